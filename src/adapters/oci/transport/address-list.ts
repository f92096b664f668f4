import { BlockList, isIP } from 'node:net';

/** A set of ranges of IP addresses. */
export type AddressList = { readonly isEmpty: boolean; readonly contains: (address: string) => boolean };

/** Reads addresses and CIDR ranges of both families. Other entries are ignored. */
export function createAddressList(entries: readonly string[]): AddressList {
  const ranges = new BlockList();
  let isEmpty = true;
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = familyOf(address);
    if (family === undefined || (bits !== undefined && !/^\d{1,3}$/.test(bits))) continue;
    const longest = family === 'ipv4' ? 32 : 128;
    const length = bits === undefined ? longest : Number(bits);
    if (length > longest) continue;
    ranges.addSubnet(address, length, family);
    isEmpty = false;
  }
  return {
    isEmpty,
    contains(address) {
      const family = familyOf(address);
      return family !== undefined && ranges.check(address, family);
    },
  };
}

/** Addresses of this machine itself: https://www.rfc-editor.org/rfc/rfc6890.html */
export const loopback = createAddressList(['127.0.0.0/8', '::1/128']);

/** Splits the host of a URL: `[::1]:5000` becomes `::1` and `5000`. */
export function splitHost(host: string): { readonly name: string; readonly port: string } {
  const [, bracketed, plain = '', port = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(host) ?? [];
  return { name: (bracketed ?? plain).toLowerCase(), port };
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  if (version === 0) return undefined;
  return version === 4 ? 'ipv4' : 'ipv6';
}
