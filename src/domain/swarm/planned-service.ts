/** The update of one service, as data. */
export type PlannedService = {
  readonly id: string;
  readonly name: string;
  /** As people write it. */
  readonly image: string;
  /** The images of the spec, verbatim: that of now, and the next one. */
  readonly from: string;
  readonly to: string;
  /** Names of services whose update comes first. */
  readonly after: readonly string[];
  /** Present for the service that we run in: it comes last of all. */
  readonly isOwn?: true;
};
