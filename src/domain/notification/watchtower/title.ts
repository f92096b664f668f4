/** `[TAG] Watchtower updates on HOST`: users' mail filters match these words. */
export function messageTitle({ product, titleTag, hostname, skipTitle }: TitleOptions): string {
  if (skipTitle) return '';
  const where = hostname === '' ? '' : ` on ${hostname}`;
  return `${titleTag === '' ? '' : `[${titleTag}] `}${product}${where}`;
}

/** `hostname`, `titleTag`: empty for none. */
export type TitleOptions = {
  readonly product: 'Watchtower updates' | 'Upkeep';
  readonly hostname: string;
  readonly titleTag: string;
  readonly skipTitle: boolean;
};
