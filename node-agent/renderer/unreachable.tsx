import { useAction, useSelected, useStore } from './companion-context.tsx';
import { ActionError, Button, Lines, Row, Section } from './controls.tsx';

/** Shown while no state of the companion is loaded: the owner can open its log folder or quit the app. */
export function CompanionUnreachable() {
  const store = useStore();
  const unreachable = useSelected((data) => data.unreachable);
  const detail = useSelected(({ app }) => app?.runtime.detail ?? null);
  const action = useAction();
  if (unreachable === null) return null;
  return (
    <Section title="The companion does not respond">
      <Row title="Nothing can run until it responds" about={<Lines text={detail ?? unreachable} />} />
      <Row title="Its log shows the reason">
        <Button disabled={action.isBusy} onClick={() => action.run(() => store.call('app.openLogFolder', {}))}>
          Open log folder
        </Button>
      </Row>
      <Row title="Quit the app">
        <Button disabled={action.isBusy} onClick={() => action.run(() => store.call('app.quit', {}))}>
          Quit
        </Button>
      </Row>
      <ActionError action={action} />
    </Section>
  );
}
