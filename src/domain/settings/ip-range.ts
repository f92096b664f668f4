/** An IPv4 or IPv6 address as a number; an IPv4 address written inside an IPv6 one (`::ffff:10.0.0.1`) is IPv4. */
export type IpAddress = { readonly bits: 32 | 128; readonly value: bigint };

/** An address or a range such as `10.0.0.0/8`. */
export type IpRange = { readonly address: IpAddress; readonly prefix: number };

/** Undefined for any text but one address. A zone (`fe80::1%eth0`) is dropped. */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (text.length > longestAddress) return undefined;
  const v4 = parseV4(text);
  if (v4 !== undefined) return { bits: 32, value: v4 };
  const v6 = parseV6(text.replace(/%[\w.-]+$/, ''));
  if (v6 === undefined) return undefined;
  return v6 >> 32n === mappedV4 ? { bits: 32, value: v6 & 0xffff_ffffn } : { bits: 128, value: v6 };
}

/** Undefined for any text but an address or a range in CIDR notation: https://www.rfc-editor.org/rfc/rfc4632 */
export function parseIpRange(text: string): IpRange | undefined {
  const [before = '', after, ...rest] = text.split('/');
  const address = parseIpAddress(before);
  if (address === undefined || rest.length > 0) return undefined;
  if (after === undefined) return { address, prefix: address.bits };
  const prefix = /^\d{1,3}$/.test(after) ? Number(after) - (isMapped(before, address) ? 96 : 0) : -1;
  return prefix >= 0 && prefix <= address.bits ? { address, prefix } : undefined;
}

export function isInRange({ bits, value }: IpAddress, { address, prefix }: IpRange): boolean {
  if (bits !== address.bits) return false;
  const shift = BigInt(bits - prefix);
  return value >> shift === address.value >> shift;
}

/** The canonical text of an address: https://www.rfc-editor.org/rfc/rfc5952 */
export function formatIpAddress({ bits, value }: IpAddress): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));
  const [start, length] = longestRunOfZeros(groups);
  if (length < 2) return groups.join(':');
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`;
}

/** Eight groups of four, or six and a dotted address, and a zone. */
const longestAddress = 80;

/** The first 96 bits of `::ffff:0:0/96`: https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2 */
const mappedV4 = 0xffffn;

function isMapped(text: string, { bits }: IpAddress): boolean {
  return bits === 32 && text.includes(':');
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)) {
    return undefined;
  }
  let value = 0n;
  for (const part of parts) value = (value << 8n) | BigInt(part);
  return value;
}

function parseV6(text: string): bigint | undefined {
  const [head = '', tail, ...rest] = text.split('::');
  if (rest.length > 0) return undefined;
  const left = groupsOf(head, tail === undefined);
  const right = tail === undefined ? [] : groupsOf(tail, true);
  if (left === undefined || right === undefined) return undefined;
  const missing = 8 - left.length - right.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  let value = 0n;
  for (const group of [...left, ...Array.from({ length: missing }, () => 0n), ...right]) value = (value << 16n) | group;
  return value;
}

/** A dotted address may replace the last two groups. */
function groupsOf(text: string, isLast: boolean): readonly bigint[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const dotted = isLast ? parseV4(parts.at(-1) ?? '') : undefined;
  const plain = dotted === undefined ? parts : parts.slice(0, -1);
  if (!plain.every((part) => /^[\da-f]{1,4}$/i.test(part))) return undefined;
  const groups = plain.map((part) => BigInt(`0x${part}`));
  return dotted === undefined ? groups : [...groups, dotted >> 16n, dotted & 0xffffn];
}

function longestRunOfZeros(groups: readonly string[]): readonly [start: number, length: number] {
  let best: readonly [number, number] = [0, 0];
  for (let start = 0; start < groups.length; start += 1) {
    let end = start;
    while (groups[end] === '0') end += 1;
    if (end - start > best[1]) best = [start, end - start];
  }
  return best;
}
