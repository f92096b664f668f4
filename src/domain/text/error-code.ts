/** The system's code of an error, such as `ENOENT`: https://nodejs.org/api/errors.html#errorcode. Empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
