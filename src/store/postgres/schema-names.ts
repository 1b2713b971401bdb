// Statements and migrations are written for one schema, and run in another.

/** The schema of the journal of erasures beside that of a store. */
export const journalSchema = (schema: string): string => `${schema}_erasures`;

/** A statement, or a migration, that is written for the schema `perdure`, for another one. */
export const inSchema = (sql: string, schema: string): string =>
  sql.replaceAll("perdure.", `"${schema}".`).replaceAll("perdure_erasures.", `"${journalSchema(schema)}".`);
