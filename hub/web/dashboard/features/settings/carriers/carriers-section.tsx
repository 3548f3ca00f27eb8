import { useSettingsSearch } from '../use-settings-search.ts';
import { ConnectionDetail } from './connection-detail.tsx';
import { ConnectionList } from './connection-list.tsx';
import { HostedSip } from './hosted-sip.tsx';
import { OwnTrunk } from './own-trunk.tsx';

export function CarriersSection() {
  const [{ id }] = useSettingsSearch();
  if (id !== undefined) return <ConnectionDetail key={id} id={id} />;
  return (
    <div className="flex flex-col gap-4">
      <ConnectionList />
      <OwnTrunk />
      <HostedSip />
    </div>
  );
}
