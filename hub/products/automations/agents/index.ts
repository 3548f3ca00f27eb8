export { Agents, findAgent, findToolProfile, routeToAgent } from './agents.ts';
