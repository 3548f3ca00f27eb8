export { Agents, findAgent, readAuthors, routeToAgent } from './agents.ts';
export { findToolProfile, ToolProfiles } from './tool-profiles.ts';
