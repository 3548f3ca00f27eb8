import { Tabs } from '@base-ui/react/tabs';
import { useState } from 'react';
import { Away } from './away.tsx';
import { useData, useMedia } from './companion-context.tsx';
import { Line, Notice } from './controls.tsx';
import { ActivityIcon, CheckIcon, LinkIcon, Mark, OverviewIcon, PermissionsIcon, SettingsIcon } from './icons.tsx';
import { CoveredContext } from './modal.tsx';
import { ActivityPage } from './pages/activity.tsx';
import { CheckPage } from './pages/check.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { PairingPage } from './pages/pairing.tsx';
import { PermissionsPage } from './pages/permissions.tsx';
import { SettingsPage } from './pages/settings.tsx';
import { PairingLinkDialog } from './pairing-link.tsx';
import { Prompts } from './prompts.tsx';
import { StatusBar } from './status-bar.tsx';

export type PageName = 'overview' | 'activity' | 'permissions' | 'check' | 'settings';

/** The whole window. */
export function App() {
  const { state, app, unreachable } = useData();
  const [page, setPage] = useState<PageName>('overview');
  const isNarrow = useMedia('(max-width: 719px)');
  const isPaired = state?.paired !== null;
  const pages = [
    ['overview', isPaired ? 'Overview' : 'Pair', isPaired ? OverviewIcon : LinkIcon],
    ['activity', 'Activity', ActivityIcon],
    ['permissions', 'Permissions', PermissionsIcon],
    ['check', 'Check', CheckIcon],
    ['settings', 'Settings', SettingsIcon],
  ] as const;
  const isPrompting = state !== null && unreachable === null && state.prompts.length > 0;
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
            {app?.runtime.state === 'attached' && (
              <Notice tone="plain" title="This window looks at a companion that runs without it">
                Quitting the app does not stop it.
              </Notice>
            )}
            {state !== null && state.problem !== null && (
              <Notice tone="bad" title="The companion does not work">
                <Line text={state.problem} />
              </Notice>
            )}
            {state === null && <Away />}
            {state !== null &&
              pages.map(([name]) => (
                <Tabs.Panel
                  key={name}
                  value={name}
                  className="panel"
                  // What was typed there is still there for whoever looks at another page and comes back.
                  keepMounted={name === 'permissions' || (name === 'overview' && !isPaired)}
                >
                  {name === 'overview' && (isPaired ? <OverviewPage onShow={setPage} /> : <PairingPage />)}
                  {name === 'activity' && <ActivityPage />}
                  {name === 'permissions' && <PermissionsPage />}
                  {name === 'check' && <CheckPage />}
                  {name === 'settings' && <SettingsPage />}
                </Tabs.Panel>
              ))}
          </div>
        </main>
      </Tabs.Root>
      {state !== null && <PairingLinkDialog />}
      {isPrompting && <Prompts prompts={state.prompts} />}
    </CoveredContext>
  );
}
