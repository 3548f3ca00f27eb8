import { useAction, useSelected, useStore } from './companion-context.tsx';
import { ActionError, Button, Lines, Row, Section } from './controls.tsx';

/** What is left to do while the companion has not spoken: look at its log, or quit. */
export function CompanionUnreachable() {
  const store = useStore();
  const unreachable = useSelected((data) => data.unreachable);
  const detail = useSelected(({ app }) => app?.runtime.detail ?? null);
  const action = useAction();
  if (unreachable === null) return null;
  return (
    <Section title="The companion does not answer">
      <Row title="Nothing can run while it is away" about={<Lines text={detail ?? unreachable} />} />
      <Row title="Its log says why">
        <Button disabled={action.isBusy} onClick={() => void action.run(() => store.call('app.openLogFolder', {}))}>
          Open log folder
        </Button>
      </Row>
      <Row title="Leave">
        <Button disabled={action.isBusy} onClick={() => void action.run(() => store.call('app.quit', {}))}>
          Quit
        </Button>
      </Row>
      <ActionError action={action} />
    </Section>
  );
}
