/** The family's title, which users' mail filters match: `[TAG] Watchtower updates on HOST`. */
export function watchtowerTitle({ titleTag, hostname, skipTitle }: TitleOptions): string {
  if (skipTitle) return '';
  const where = hostname === '' ? '' : ` on ${hostname}`;
  return `${titleTag === '' ? '' : `[${titleTag}] `}Watchtower updates${where}`;
}

/** `hostname`, `titleTag`: empty for none. */
export type TitleOptions = {
  readonly hostname: string;
  readonly titleTag: string;
  readonly skipTitle: boolean;
};
