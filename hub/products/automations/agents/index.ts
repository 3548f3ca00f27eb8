export { Agents, findAgent, routeToAgent } from './agents.ts';
export { findToolProfile, ToolProfiles } from './tool-profiles.ts';
