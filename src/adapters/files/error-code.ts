/** The system's code of an error, such as `ENOENT`: https://nodejs.org/api/errors.html#errorcode. Undefined without one. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
