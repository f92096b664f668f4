/**
 * `X-Registry-Auth` of a password: base64url, always with padding. Without padding the engine loses the last byte, and
 * ignores the whole object.
 */
export function registryAuth(
  host: string,
  credentials: { readonly username: string; readonly password: string } | undefined,
): string {
  const text = JSON.stringify({ ...credentials, serveraddress: host });
  const bytes = Buffer.from(text.length % 3 === 0 ? text.replace('{', '{ ') : text);
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}
