/** Labels of the service, written by the call that changes it. */
export const updateIdLabel = 'upkeep.tx.id';
/** The image that the update replaced, verbatim. */
export const updateFromLabel = 'upkeep.tx.from';
