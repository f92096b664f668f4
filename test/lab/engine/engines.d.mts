export function obtainPlugins(options?: { readonly log?: (line: string) => void }): {
  readonly folder?: string;
  readonly failure?: string;
};
