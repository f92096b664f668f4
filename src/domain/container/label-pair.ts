/** A label on the command line: `tier=web`, or `tier=` for any value. */
export type LabelPair = {
  readonly label: string;
  /** Empty: any. */
  readonly value: string;
};

/** Undefined without an equals sign, without a name, or beyond the length limit of labels. */
export function parseLabelPair(text: string): LabelPair | undefined {
  if (text.length > longestPair) return undefined;
  const [, label = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  return label.trim() === '' ? undefined : { label: label.trim(), value: value.trim() };
}

/** Whether the labels contain one of the pairs. A pair that cannot be read matches nothing. */
export function carriesAny(labels: Readonly<Record<string, string>>, texts: readonly string[]): boolean {
  return texts.some((text) => {
    const pair = parseLabelPair(text);
    if (pair === undefined || !Object.hasOwn(labels, pair.label)) return false;
    return pair.value === '' || labels[pair.label] === pair.value;
  });
}

/** Limit of containerd: https://github.com/containerd/containerd/blob/main/pkg/labels/validate.go */
const longestPair = 4096;
