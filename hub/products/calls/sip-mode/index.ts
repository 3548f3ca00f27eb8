export { sipModeTopic, SipModes, tellSipMode } from './sip-modes.ts';
