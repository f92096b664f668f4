/** As in an OCI index; `variant` is empty where there is none. */
export type Platform = { readonly os: string; readonly architecture: string; readonly variant: string };
