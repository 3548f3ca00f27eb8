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
      return 'Looking for a new version…';
    case 'downloading':
      return `${named} is being downloaded.`;
    case 'ready':
      return `${named} is ready. It is put in place when nothing runs.`;
    case 'refused':
      return `${named} was refused.`;
    case 'failed':
      return 'The last look for a new version failed.';
    case 'idle':
      return by === 'app' ? 'New versions come by themselves.' : 'This installation is not updated by itself.';
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
            onClick={() => void action.run(async () => store.setApp(await store.call('app.applyUpdate', {})))}
          >
            Restart and update now
          </Button>
        ) : (
          <Button
            disabled={action.isBusy || isInProgress || update.by === 'nobody'}
            onClick={() => void action.run(async () => store.setApp(await store.call('app.checkForUpdate', {})))}
          >
            Look for updates
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
  const unpair = async () => {
    const isDone = await action.run(async () => {
      const { hubKnows } = await store.call('unpair', {});
      setHubUninformed(!hubKnows);
      store.setState(await store.call('state', {}));
    });
    if (isDone) setConfirming(false);
  };
  return (
    <Section title="Pairing">
      {paired === null ? (
        <Row
          title="This machine is not paired"
          about={
            isHubUninformed
              ? 'The hub could not be told that it was forgotten: revoke this node there as well.'
              : 'No hub can reach it.'
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
                  Kept in <Line text={keyStore ?? 'the key store of this system'} />.
                </>
              ) : (
                'Kept in a file that only you can read.'
              )
            }
          />
          <Row title="Forget the hub" about="It can't reach this machine any more. What you allowed stays as it is.">
            <Button variant="danger" onClick={() => setConfirming(true)}>
              Unpair…
            </Button>
          </Row>
          <Decision isOpen={isConfirming} title="Unpair this machine?" onClose={() => setConfirming(false)}>
            <p>
              What runs now is ended, and <Line text={paired.hub} /> can't reach this machine any more. To come back you
              need a new code.
            </p>
            <ActionError action={action} title="This machine is still paired" />
            <div className="popup-end">
              <Button size="big" disabled={action.isBusy} onClick={() => setConfirming(false)}>
                Cancel
              </Button>
              <Button variant="danger" size="big" disabled={action.isBusy} onClick={() => void unpair()}>
                {action.isBusy ? 'Unpairing…' : 'Unpair'}
              </Button>
            </div>
          </Decision>
        </>
      )}
    </Section>
  );
}

/** How the app behaves, where things are kept, and the way out. */
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
              ? "This installation can't start by itself."
              : 'The window stays closed until you open it.'
          }
          isOn={startAtLogin === true}
          isDisabled={startAtLogin === null || action.isBusy}
          onChange={(on) => void action.run(async () => store.setApp(await store.call('app.setStartAtLogin', { on })))}
        />
        <ToggleRow
          label="Keep pictures for a day"
          about="Pictures that were sent stay on this machine for a day, so that you can look at them under Activity."
          isOn={keepPictures}
          isDisabled={action.isBusy}
          onChange={(keep) => void action.run(() => store.change({ change: 'keep_pictures', keep }))}
        />
        <Row
          title="Pause from anywhere"
          about={
            pauseShortcut === null ? (
              <>
                This desktop takes no shortcut, or another program has it;{' '}
                <code>
                  <Line text={pauseCommand} />
                </code>{' '}
                does the same.
              </>
            ) : (
              'Works while other windows are in front.'
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
              ? 'The companion goes on, with its icon in the tray.'
              : 'This desktop has no tray, so the window stays: it is only made small.'
          }
        >
          <Button disabled={action.isBusy} onClick={() => void action.run(() => store.call('app.quit', {}))}>
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
          <Button disabled={action.isBusy} onClick={() => void action.run(() => store.call('app.openLogFolder', {}))}>
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
