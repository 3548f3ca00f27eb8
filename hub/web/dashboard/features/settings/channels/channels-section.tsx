import { useSettingsSearch } from '../use-settings-search.ts';
import { ChannelDetail } from './channel-detail.tsx';
import { ChannelList } from './channel-list.tsx';

export function ChannelsSection() {
  const [{ id }] = useSettingsSearch();
  return id === undefined ? <ChannelList /> : <ChannelDetail key={id} id={id} />;
}
