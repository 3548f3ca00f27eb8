export { channelTopic } from './channel.ts';
export { NodeChannels } from './channels.ts';
export { DevicePolls } from './device-polls.ts';
