/**
 * Whether the engine supports an API version, by the version in use:
 * https://docs.docker.com/reference/api/engine/version-history/
 */
export function supportsApi(apiVersion: string, wanted: `1.${number}`): boolean {
  const [major, minor] = parse(apiVersion);
  const [wantedMajor, wantedMinor] = parse(wanted);
  return major === wantedMajor ? minor >= wantedMinor : major > wantedMajor;
}

function parse(version: string): readonly [number, number] {
  const [, major = 0, minor = 0] = (/^(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  return [major, minor];
}
