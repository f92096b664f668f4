/** The groups of endpoints, by the names that users give. */
export const endpointGroups = [
  'health',
  'update',
  'metrics',
  'containers',
  'check',
  'history',
  'images',
  'config',
  'events',
  'swagger',
] as const;

export type EndpointGroup = (typeof endpointGroups)[number];
