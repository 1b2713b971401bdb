-- Of a task that was imported, until its log tells of it: the time of the bundle.
ALTER TABLE tasks ADD COLUMN bundleAt INTEGER;
