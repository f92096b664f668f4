/** The update of one service, as data. */
export type PlannedService = {
  readonly id: string;
  readonly name: string;
  /** In short form. */
  readonly image: string;
  /** The present and the next image of the spec, verbatim. */
  readonly from: string;
  readonly to: string;
  /** Names of services that are updated before it. */
  readonly after: readonly string[];
  /** Present for the service that we run in, which is updated last. */
  readonly isOwn?: true;
};
