-- Which task is next, between principals: who has tasks ready, of which priority, and who has how many under a lease.
DROP INDEX tasksReady;
CREATE INDEX tasksReady ON tasks (lane, priority DESC, readyAt, owner) WHERE readyAt IS NOT NULL;
CREATE INDEX tasksReadyByOwner ON tasks (lane, priority DESC, owner, readyAt) WHERE readyAt IS NOT NULL;
DROP INDEX tasksLeased;
CREATE INDEX tasksLeased ON tasks (leaseUntil, leaseBoot, leaseEndsAt, owner) WHERE leaseUntil IS NOT NULL;
