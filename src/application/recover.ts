/** What a start found of interrupted updates, and what became of each. */
export type RecoveryReport = {
  readonly transactions: readonly RecoveredTransaction[];
};

export type RecoveredTransaction = {
  readonly containers: readonly string[];
  /** `finished`: the new version runs; `undone`: the old one; `left`: not ours to touch now, with the reason. */
  readonly result: 'finished' | 'undone' | 'left' | 'failed';
  readonly reason: string;
};
