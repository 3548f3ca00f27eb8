export { sipModeTopic, SipModes, publishSipModeChange } from './sip-modes.ts';
