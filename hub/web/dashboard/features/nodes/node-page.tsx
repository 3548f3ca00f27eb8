import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { Node } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { keyOf, query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useRereadOn } from '../../app/live-updates.tsx';
import { NotFound } from '../../app/page-states.tsx';
import { Page } from '../../ui/layout.tsx';
import { LoadedPage, MissingObject, useIsMissing } from '../../ui/loaded.tsx';
import { LinkTabs } from '../../ui/tabs.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { CommandsTab } from './commands-tab.tsx';
import { ConsoleTab } from './console-tab.tsx';
import { NodeActions } from './node-actions.tsx';
import { NodeStatusPills, NodeTags, systemName } from './node-labels.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { PermissionsTab } from './permissions-tab.tsx';

/** The companion reports a switch of the owner immediately, but the hub sends no event for it. */
const rereadMs = 5_000;
const tabs = { permissions: PermissionsTab, commands: CommandsTab, console: ConsoleTab };
const isTab = (name: string): name is keyof typeof tabs => Object.hasOwn(tabs, name);

function Meta({ node }: { node: Node }) {
  const { words, format } = useLanguage();
  const { nodes } = words;
  const { device } = node;
  const parts =
    device === null
      ? []
      : [
          visibleLine(device.name),
          systemName(device),
          format(nodes.companionVersion, { version: visibleLine(device.appVersion) }),
        ];
  return (
    <>
      {parts.map((part) => `${part} · `)}
      {node.lastSeenAt === null ? (
        nodes.neverSeen
      ) : (
        <>
          {nodes.seen} <RelativeTime at={node.lastSeenAt} />
        </>
      )}
    </>
  );
}

/** One machine: its state, what it may do, what it did, and a console. */
export function NodePage() {
  const { nodeId, tab } = useParams({ from: '/nodes/$nodeId/{-$tab}' });
  const { words } = useLanguage();
  const { nodes, common } = words;
  const input = { params: { id: nodeId } };
  const node = useQuery({ ...query('getAutomationNode', input), refetchInterval: rereadMs });
  useRereadOn(({ type, id }) => type === 'node' && id === nodeId, [keyOf('getAutomationNode', input)]);
  const isMissing = useIsMissing(node);
  const isUnknownTab = tab !== undefined && !isTab(tab);
  const crumbs = [{ label: common.nodes, link: { to: '/nodes' as const } }];
  if (isMissing) return <MissingObject title={nodes.missing} crumbs={crumbs} />;
  if (isUnknownTab) return <NotFound />;
  const Content = tab === undefined ? OverviewTab : tabs[tab as keyof typeof tabs];
  const link = (name?: string) =>
    ({ to: '/nodes/$nodeId/{-$tab}', params: { nodeId, tab: name }, search: {} }) as const;
  return (
    <LoadedPage of={node} type="node" missing={nodes.missing} crumbs={crumbs}>
      {(data) => (
        <Page
          title={visibleLine(data.name)}
          crumbs={crumbs}
          aside={
            <>
              <NodeStatusPills node={data} />
              <NodeTags node={data} />
            </>
          }
          meta={<Meta node={data} />}
          actions={<NodeActions node={data} />}
        >
          <LinkTabs
            label={nodes.parts}
            tabs={[
              { label: nodes.overview, link: link() },
              { label: nodes.permissions, link: link('permissions') },
              { label: nodes.commands, link: link('commands') },
              { label: nodes.console, link: link('console') },
            ]}
          />
          <Content node={data} />
        </Page>
      )}
    </LoadedPage>
  );
}
