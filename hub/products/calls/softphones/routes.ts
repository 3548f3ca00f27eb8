import { sipSockets } from '../../../../shared/contract/calls/sip-socket.ts';
import { implementSocket } from '../../../platform/http/live/sockets.ts';
import type { SoftphoneSocketGateway } from './softphone-socket-gateway.ts';

export const softphoneRoutes = (gateway: SoftphoneSocketGateway) => [
  implementSocket(sipSockets.connectSoftphone, (opened) => gateway.open(opened)),
];
