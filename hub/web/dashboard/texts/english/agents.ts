/** Texts of the agents pages. */
export const agents = {
  missing: 'There is no AI agent with this id',
  empty: 'No AI agents yet',
  emptyText: 'An AI agent answers messages of channels and works as a step of workflows. You create it with the API.',
  name: 'Name',
  model: 'Model',
  anyModel: 'Failover order',
  profile: 'Tools',
  noProfile: 'No tools',
  routes: 'Routes',
  changed: 'Changed',
  prompt: 'Instructions',
  allowed: 'Allowed skills',
  denied: 'Denied skills',
  json: 'JSON',
  none: 'None',
};
