/** The system's code of an error, such as `ENOENT`: https://nodejs.org/api/errors.html#errorcode. Empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The message of an error, without the call and the path that Node appends to that of a file. */
export function messageWithoutPath(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return codeOf(error) === '' ? message : message.replace(/, \w+(?: '.*)?$/s, '');
}
