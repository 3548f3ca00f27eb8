import { useState } from 'react';
import type { UpdateState } from '../../../shared/companion/app.ts';
import { useAction, useCompanionState, useSelected, useStore, useWorkspaceName } from '../companion-context.tsx';
import { ActionError, Button, Line, Lines, Row, Section, ToggleRow } from '../controls.tsx';
import { Decision } from '../modal.tsx';
import { dateTimeOf } from '../words.ts';

const systems = { linux: 'Linux', darwin: 'macOS', win32: 'Windows' } as const;

function updateWords({ state, version, by }: UpdateState): string {
  const named = version === null ? 'A new version' : `Version ${version}`;
  switch (state) {
    case 'checking':
      return 'Checking for updates…';
    case 'downloading':
      return `${named} is being downloaded.`;
    case 'ready':
      return `${named} is ready. It will be installed when no command is running.`;
    case 'refused':
      return `${named} was refused.`;
    case 'failed':
      return 'The latest check for updates failed.';
    case 'idle':
      return by === 'app' ? 'Updates are automatic.' : 'This installation does not update automatically.';
  }
}

function Updates({ update }: { update: UpdateState }) {
  const store = useStore();
  const action = useAction();
  const isInProgress = update.state === 'checking' || update.state === 'downloading';
  return (
    <Section title="Updates">
      <Row
        title={
          <span role="status">
            <Line text={updateWords(update)} />
          </span>
        }
        about={update.detail === null ? undefined : <Lines text={update.detail} />}
      >
        {update.state === 'ready' ? (
          <Button
            variant="main"
            disabled={action.isBusy}
            onClick={() => action.run(async () => store.setApp(await store.call('app.applyUpdate', {})))}
          >
            Restart and update now
          </Button>
        ) : (
          <Button
            disabled={action.isBusy || isInProgress || update.by === 'nobody'}
            onClick={() => action.run(async () => store.setApp(await store.call('app.checkForUpdate', {})))}
          >
            Check for updates
          </Button>
        )}
      </Row>
      <ActionError action={action} />
    </Section>
  );
}

function Unpair() {
  const store = useStore();
  const paired = useCompanionState((state) => state.paired);
  const workspace = useWorkspaceName();
  const keyStore = useCompanionState((state) => state.keyStore.name);
  const action = useAction();
  const [isConfirming, setConfirming] = useState(false);
  const [isHubUninformed, setHubUninformed] = useState(false);
  const unpair = () =>
    action.run(
      async () => {
        const { hubKnows } = await store.call('unpair', {});
        setHubUninformed(!hubKnows);
        store.setState(await store.call('state', {}));
      },
      () => setConfirming(false),
    );
  return (
    <Section title="Pairing">
      {paired === null ? (
        <Row
          title="This machine is not paired"
          about={
            isHubUninformed ? 'The hub could not be informed. Revoke this node there too.' : 'No hub can reach it.'
          }
        />
      ) : (
        <>
          <Row title="Hub" about={<Line text={paired.hub} />} />
          {workspace !== null && <Row title="Workspace" about={<Line text={workspace} />} />}
          {paired.name === null ? (
            <Row title="Node" about={<Line text={paired.nodeId} />} />
          ) : (
            <Row title="Name of this machine at the hub" about={<Line text={paired.name} />} />
          )}
          <Row title="Paired" about={dateTimeOf(paired.pairedAt)} />
          <Row
            title="The secret of this machine"
            about={
              paired.secretIn === 'key_store' ? (
                <>
                  Stored in <Line text={keyStore ?? 'the key store of this system'} />.
                </>
              ) : (
                'Stored in a file that only you can read.'
              )
            }
          />
          <Row
            title="Forget the hub"
            about="The hub can no longer reach this machine. Your permissions stay unchanged."
          >
            <Button variant="danger" onClick={() => setConfirming(true)}>
              Unpair…
            </Button>
          </Row>
          <Decision isOpen={isConfirming} title="Unpair this machine?" onClose={() => setConfirming(false)}>
            <p>
              Running commands end, and <Line text={paired.hub} /> can no longer reach this machine. To pair again you
              need a new code.
            </p>
            <ActionError action={action} title="This machine is still paired" />
            <div className="popup-end">
              <Button size="big" disabled={action.isBusy} onClick={() => setConfirming(false)}>
                Cancel
              </Button>
              <Button variant="danger" size="big" disabled={action.isBusy} onClick={() => unpair()}>
                {action.isBusy ? 'Unpairing…' : 'Unpair'}
              </Button>
            </div>
          </Decision>
        </>
      )}
    </Section>
  );
}

/** Settings of the app, pairing, updates, and information about this installation. */
export function SettingsPage() {
  const store = useStore();
  const app = useSelected((data) => data.app);
  const keepPictures = useCompanionState(({ settings }) => settings.capture.keepPictures);
  const dataFolder = useCompanionState((state) => state.dataFolder);
  const version = useCompanionState((state) => state.version);
  const action = useAction();
  if (app === null) return null;
  const { startAtLogin, pauseShortcut, pauseCommand } = app;
  return (
    <>
      <div className="page-head">
        <h1>Settings</h1>
      </div>
      <ActionError action={action} />
      <Section title="General">
        <ToggleRow
          label="Start when I log in"
          about={
            startAtLogin === null
              ? "This installation can't start automatically."
              : 'The window stays closed until you open it.'
          }
          isOn={startAtLogin === true}
          isDisabled={startAtLogin === null || action.isBusy}
          onChange={(on) => action.run(async () => store.setApp(await store.call('app.setStartAtLogin', { on })))}
        />
        <ToggleRow
          label="Keep pictures for a day"
          about="Pictures that were sent stay on this machine for a day. You can see them under Activity."
          isOn={keepPictures}
          isDisabled={action.isBusy}
          onChange={(keep) => action.run(() => store.change({ change: 'keep_pictures', keep }))}
        />
        <Row
          title="Pause from anywhere"
          about={
            pauseShortcut === null ? (
              <>
                This desktop has no global shortcuts, or another program uses the shortcut. Instead, run{' '}
                <code>
                  <Line text={pauseCommand} />
                </code>
                .
              </>
            ) : (
              'Also works while other windows are in front.'
            )
          }
        >
          {pauseShortcut !== null && (
            <kbd>
              <Line text={pauseShortcut} />
            </kbd>
          )}
        </Row>
        <Row
          title="When the window is closed"
          about={
            app.hasTray
              ? 'The companion continues to run, with its icon in the tray.'
              : 'This desktop has no tray, so the window is minimized instead.'
          }
        >
          <Button disabled={action.isBusy} onClick={() => action.run(() => store.call('app.quit', {}))}>
            Quit
          </Button>
        </Row>
      </Section>
      <Unpair />
      <Updates update={app.update} />
      <Section title="About">
        <Row
          title="Data and logs"
          about={
            <code>
              <Line text={dataFolder} />
            </code>
          }
        >
          <Button disabled={action.isBusy} onClick={() => action.run(() => store.call('app.openLogFolder', {}))}>
            Open log folder
          </Button>
        </Row>
        <Row
          title="Versions"
          about={
            <>
              App <Line text={app.version} />, companion <Line text={version} />, on {systems[app.platform]}
            </>
          }
        />
      </Section>
    </>
  );
}
