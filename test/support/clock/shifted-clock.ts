/** For NODE_OPTIONS: the wall clock of a process begins at this time, and continues from there. */
export function withClockAt(startMs: number): string {
  const script = `const aheadMs = ${startMs} - Date.now(); const now = Date.now; Date.now = () => now() + aheadMs;`;
  return `--import=data:text/javascript,${encodeURIComponent(script)}`;
}
