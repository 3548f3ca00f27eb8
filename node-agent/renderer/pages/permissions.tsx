import { Menu } from '@base-ui/react/menu';
import { memo } from 'react';
import type { PowerState } from '../../../shared/companion/state.ts';
import { visibleLine } from '../../../shared/visible-text.ts';
import { useAction, useCompanionState, useNow, useStore } from '../companion-context.tsx';
import { ActionError, Badge, Button, Empty, Line, Notice, Section, Toggle } from '../controls.tsx';
import { CrossIcon, DownIcon, FolderIcon, PlusIcon, TickIcon, powerIcons } from '../icons.tsx';
import { RemedyLine, ShareFolder, describePermission } from '../remedy.tsx';
import type { Tone } from '../words.ts';
import { momentOf, powerWords } from '../words.ts';
import { BrowserRules } from './browser-rules.tsx';
import { ProgramRules } from './program-rules.tsx';

const times = [
  [undefined, 'Until I switch it off'],
  [15, 'For 15 minutes'],
  [60, 'For 1 hour'],
  [480, 'For 8 hours'],
] as const;

const systemTones: Record<PowerState['system']['state'], Tone> = {
  granted: 'good',
  denied: 'bad',
  missing: 'bad',
  unknown: 'plain',
};

/** The powers that can also be switched off at the hub. */
const powersWithHubSwitch: readonly string[] = ['system', 'browser'];

function hubBadge({ power, hubAllows }: PowerState) {
  if (hubAllows === null)
    return <Badge>{powersWithHubSwitch.includes(power) ? 'Hub: unknown' : 'Hub: no restriction'}</Badge>;
  return hubAllows ? <Badge tone="good">Hub: on</Badge> : <Badge tone="warning">Hub: off</Badge>;
}

const PowerRow = memo(function PowerRow({ state }: { state: PowerState }) {
  const store = useStore();
  const action = useAction();
  const now = useNow(30_000);
  const { power, isAllowed, until, system } = state;
  const { name, about } = powerWords[power];
  const Icon = powerIcons[power];
  const withoutSandbox = useCompanionState(({ settings }) => settings.browser.withoutSandbox);
  const isNothingShared = useCompanionState(({ settings }) => power === 'files' && settings.sharedFolders.length === 0);
  const allow = (minutes: number | undefined) =>
    action.run(() =>
      store.change({
        change: 'allow',
        power,
        ...(minutes === undefined ? {} : { minutes }),
        // Changing the duration must not change the consent to run without the sandbox.
        ...(power === 'browser' && withoutSandbox ? { withoutSandbox } : {}),
      }),
    );
  return (
    <li className="power">
      <span className="type-icon">
        <Icon />
      </span>
      <div className="power-text">
        <strong>{name}</strong>
        <div className="row-about">{about}</div>
        <div className="badges">
          {hubBadge(state)}
          {isNothingShared ? (
            <Badge>No folder shared</Badge>
          ) : (
            <Badge tone={systemTones[system.state]}>System: {describePermission(system).toLowerCase()}</Badge>
          )}
          {system.detail !== '' && !isNothingShared && (
            <span className="hint">
              <Line text={system.detail} />
            </span>
          )}
        </div>
        {state.hubAllows === false && (
          <p className="hint">It stays off until an admin of the hub switches it on there for this node.</p>
        )}
        {system.remedy !== null && system.state !== 'granted' && <RemedyLine remedy={system.remedy} />}
        <ActionError action={action} />
      </div>
      <div className="power-end">
        <Toggle
          label={`Allow ${name.toLowerCase()}`}
          isOn={isAllowed}
          isDisabled={action.isBusy}
          onChange={(isOn) => (isOn ? allow(undefined) : action.run(() => store.change({ change: 'deny', power })))}
        />
        <Menu.Root>
          <Menu.Trigger className="button quiet small time">
            <span className="visually-hidden">How long {name.toLowerCase()} is allowed: </span>
            {isAllowed ? (until === null ? 'Until switched off' : `Until ${momentOf(until, now)}`) : 'Off'}
            <DownIcon size={14} />
          </Menu.Trigger>
          <Menu.Portal>
            <Menu.Positioner positionMethod="fixed" sideOffset={4} align="end" className="positioner">
              <Menu.Popup className="menu">
                {times.map(([minutes, label]) => (
                  <Menu.Item key={label} className="menu-item" onClick={() => allow(minutes)}>
                    <span className="menu-tick">
                      {isAllowed && minutes === undefined && until === null && <TickIcon size={16} />}
                    </span>
                    {label}
                  </Menu.Item>
                ))}
                <Menu.Separator className="menu-line" />
                <Menu.Item
                  className="menu-item"
                  onClick={() => action.run(() => store.change({ change: 'deny', power }))}
                >
                  <span className="menu-tick">{!isAllowed && <TickIcon size={16} />}</span>
                  Off
                </Menu.Item>
              </Menu.Popup>
            </Menu.Positioner>
          </Menu.Portal>
        </Menu.Root>
      </div>
    </li>
  );
});

function SharedFolders() {
  const store = useStore();
  const sharedFolders = useCompanionState(({ settings }) => settings.sharedFolders);
  const action = useAction();
  return (
    <Section
      title="Shared folders"
      about="Workflows may list and read the contents of these folders, and nothing else on this machine. They can't change anything in them."
      end={
        <ShareFolder>
          <PlusIcon size={16} />
          Share a folder…
        </ShareFolder>
      }
    >
      <ActionError action={action} />
      {sharedFolders.length === 0 ? (
        <Empty>No folder is shared.</Empty>
      ) : (
        <ul className="rows">
          {sharedFolders.map((path) => (
            <li key={path} className="row">
              <span className="path">
                <FolderIcon />
                <code>
                  <Line text={path} />
                </code>
              </span>
              <Button
                variant="quiet"
                size="small"
                className="icon-only"
                aria-label={`Stop sharing ${visibleLine(path)}`}
                disabled={action.isBusy}
                onClick={() => action.run(() => store.change({ change: 'unshare', path }))}
              >
                <CrossIcon size={16} />
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** Permissions of the hub. The owner, the hub and the system must all allow a power. */
export function PermissionsPage() {
  const powers = useCompanionState((state) => state.powers);
  const isPaused = useCompanionState(({ settings }) => settings.paused);
  return (
    <>
      <div className="page-head">
        <h1>Permissions</h1>
        <p>
          You, the hub and your system must all allow a command. Running commands end immediately when you switch off
          their power.
        </p>
      </div>
      {isPaused && (
        <Notice tone="warning" title="Paused">
          Nothing below can be used until you resume.
        </Notice>
      )}
      <div className="card">
        <ul className="rows">
          {powers.map((state) => (
            <PowerRow key={state.power} state={state} />
          ))}
        </ul>
      </div>
      <SharedFolders />
      <ProgramRules />
      <BrowserRules />
    </>
  );
}
