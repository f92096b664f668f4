/** The name of a container for people: `nas/web` where there are several engines. */
export function shownName({ name, engine }: { readonly name: string; readonly engine?: string | undefined }): string {
  return engine === undefined ? name : `${engine}/${name}`;
}
