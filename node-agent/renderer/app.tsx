import { Tabs } from '@base-ui/react/tabs';
import { memo, useLayoutEffect, useState } from 'react';
import type { CompanionState, Prompt } from '../../shared/companion/state.ts';
import { BrokenFile } from './broken-file.tsx';
import { ChangedLog, EditedSettings } from './changed-files.tsx';
import { useMedia, useSelected } from './companion-context.tsx';
import { Button, Line, Notice } from './controls.tsx';
import { ActivityIcon, CheckIcon, LinkIcon, Mark, OverviewIcon, PermissionsIcon, SettingsIcon } from './icons.tsx';
import { CoveredContext } from './modal.tsx';
import { rewordForOwner } from './outcome-words.ts';
import { ActivityPage } from './pages/activity.tsx';
import { CheckPage } from './pages/check.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { PairingPage } from './pages/pairing.tsx';
import { PermissionsPage } from './pages/permissions.tsx';
import { SettingsPage } from './pages/settings.tsx';
import { PairingLinkDialog } from './pairing-link.tsx';
import { Prompts } from './prompts.tsx';
import { StatusBar } from './status-bar.tsx';
import { CompanionUnreachable } from './unreachable.tsx';

export type PageName = 'overview' | 'activity' | 'permissions' | 'check' | 'settings';

interface PageProps {
  name: PageName;
  isPaired: boolean;
  onShow: (page: PageName) => void;
}

const Page = memo(function Page({ name, isPaired, onShow }: PageProps) {
  switch (name) {
    case 'overview':
      return isPaired ? <OverviewPage onShow={onShow} /> : <PairingPage />;
    case 'activity':
      return <ActivityPage />;
    case 'permissions':
      return <PermissionsPage />;
    case 'check':
      return <CheckPage />;
    case 'settings':
      return <SettingsPage />;
  }
});

const none: readonly Prompt[] = [];
const noBrokenFiles: CompanionState['broken'] = [];

export function App() {
  const hasState = useSelected(({ state }) => state !== null);
  const isPaired = useSelected(({ state }) => state?.paired !== null);
  const problem = useSelected(({ state }) => state?.problem ?? null);
  const broken = useSelected(({ state }) => state?.broken ?? noBrokenFiles);
  const auditProblem = useSelected(({ state }) => state?.audit.problem ?? null);
  const edited = useSelected(({ state }) => state?.edited ?? null);
  const prompts = useSelected(({ state, unreachable }) => (unreachable === null ? state?.prompts : undefined) ?? none);
  const isAttached = useSelected(({ app }) => app?.runtime.state === 'attached');
  const [page, setPage] = useState<PageName>('overview');
  // The owner can pair again only while the current pairing has a problem.
  const [isPairingRequested, setPairingRequested] = useState(false);
  const isPairingAgain = isPairingRequested && problem !== null;
  const needsPairing = !isPaired || isPairingAgain;
  const isNarrow = useMedia('(max-width: 719px)');
  // Each page starts scrolled to its top.
  useLayoutEffect(() => {
    window.scrollTo(0, 0);
  }, [page]);
  const pages = [
    ['overview', needsPairing ? 'Pair' : 'Overview', needsPairing ? LinkIcon : OverviewIcon],
    ['activity', 'Activity', ActivityIcon],
    ['permissions', 'Permissions', PermissionsIcon],
    ['check', 'Check', CheckIcon],
    ['settings', 'Settings', SettingsIcon],
  ] as const;
  const isPrompting = prompts.length > 0;
  return (
    <CoveredContext value={isPrompting}>
      <Tabs.Root
        className="shell"
        orientation={isNarrow ? 'horizontal' : 'vertical'}
        value={page}
        onValueChange={(value) => setPage(value as PageName)}
      >
        <nav className="side" aria-label="Pages">
          <div className="brand">
            <Mark />
            <span>
              Outrigger
              <small>Companion</small>
            </span>
          </div>
          <Tabs.List className="tabs" activateOnFocus={false}>
            {pages.map(([name, label, Icon]) => (
              <Tabs.Tab key={name} value={name} className="tab">
                <Icon />
                <span>{label}</span>
              </Tabs.Tab>
            ))}
          </Tabs.List>
        </nav>
        <main className="page">
          <StatusBar isLarge={page === 'overview'} />
          <div className="content">
            {isAttached && (
              <Notice tone="plain" title="This window shows a companion that runs independently">
                Quitting the app does not stop it.
              </Notice>
            )}
            {broken.map((one) => (
              <BrokenFile key={one.file} broken={one} />
            ))}
            {problem !== null && broken.length === 0 && (
              <Notice
                tone="bad"
                title="The companion does not work"
                end={
                  isPaired &&
                  !isPairingAgain && (
                    <Button
                      onClick={() => {
                        setPairingRequested(true);
                        setPage('overview');
                      }}
                    >
                      Pair again…
                    </Button>
                  )
                }
              >
                <Line text={rewordForOwner(problem)} />
              </Notice>
            )}
            {auditProblem !== null && <ChangedLog problem={auditProblem} />}
            {edited !== null && <EditedSettings edited={edited} />}
            {!hasState && <CompanionUnreachable />}
            {hasState &&
              pages.map(([name]) => (
                <Tabs.Panel
                  key={name}
                  value={name}
                  className="panel"
                  // Text that was typed survives a visit to another page.
                  keepMounted={name === 'permissions' || (name === 'overview' && needsPairing)}
                >
                  <Page name={name} isPaired={!needsPairing} onShow={setPage} />
                </Tabs.Panel>
              ))}
          </div>
        </main>
      </Tabs.Root>
      {hasState && <PairingLinkDialog />}
      {isPrompting && <Prompts prompts={prompts} />}
    </CoveredContext>
  );
}
