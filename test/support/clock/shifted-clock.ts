/** For NODE_OPTIONS: the clock on the wall of a process shows this time when it starts, and goes on from there. */
export function withClockAt(startMs: number): string {
  const script = `const aheadMs = ${startMs} - Date.now(); const now = Date.now; Date.now = () => now() + aheadMs;`;
  return `--import=data:text/javascript,${encodeURIComponent(script)}`;
}
