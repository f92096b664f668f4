/** A rule of the protocol that `npm run test:faults -- --mutations` removes. */
export const mutations: readonly {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}[];
