/** Reads a length of MQTT. Undefined: the packet is incomplete. Throws if it has more than four digits. */
export function readVariable(from: Buffer, at: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let index = 0; index < 4; index += 1) {
    const digit = from[at + index];
    if (digit === undefined) return undefined;
    value += (digit & 0x7f) * 128 ** index;
    if ((digit & 0x80) === 0) return { value, end: at + index + 1 };
  }
  throw new Error('it does not speak MQTT');
}
