import { useAction, useCompanionState, useStore } from '../companion-context.tsx';
import { ActionError, Notice, Section, ToggleRow } from '../controls.tsx';
import { ListEditor } from '../list-editor.tsx';

const hostHint = (
  <>
    A host such as <code>example.org</code>, or <code>*.example.org</code> for all hosts below it.
  </>
);

/** Rules for the hosts that the browser may visit and for what it may do there. */
export function BrowserRules() {
  const store = useStore();
  const browser = useCompanionState(({ settings }) => settings.browser);
  const action = useAction();
  const { allowHosts, blockHosts, privateHosts } = browser;
  return (
    <Section
      title="Browser"
      about="Workflows use a separate browser profile: they don't see your tabs, passwords or history."
    >
      {browser.withoutSandbox && (
        <Notice tone="warning" title="It runs without its sandbox">
          A page that breaks out of the browser can control this whole machine. It is safer to run the companion as
          another user.
        </Notice>
      )}
      <ListEditor
        label="Allowed hosts"
        hint={hostHint}
        placeholder="example.org"
        items={allowHosts}
        empty="The list is empty: every host that is not blocked may be visited."
        onChange={(hosts) => store.change({ change: 'browser_hosts', allowHosts: hosts, blockHosts })}
      />
      <ListEditor
        label="Blocked hosts"
        hint="These are never visited, even if the list above allows them."
        placeholder="*.example.org"
        items={blockHosts}
        empty="No host is blocked."
        onChange={(hosts) => store.change({ change: 'browser_hosts', allowHosts, blockHosts: hosts })}
      />
      <ListEditor
        label="Private hosts"
        hint={
          <>
            A host such as <code>intranet.lan</code>, <code>localhost:3000</code>, or a range such as{' '}
            <code>10.0.0.0/8</code>.
          </>
        }
        placeholder="localhost:3000"
        items={privateHosts}
        empty="The list is empty: pages can't reach this machine or private networks."
        onChange={(hosts) => store.change({ change: 'browser_hosts', privateHosts: hosts })}
      />
      <ToggleRow
        label="Let workflows run scripts in pages"
        about="A script can do whatever you could do in that page."
        isOn={browser.evaluate}
        isDisabled={action.isBusy}
        onChange={(allowed) => action.run(() => store.change({ change: 'browser_evaluate', allowed }))}
      />
      <ToggleRow
        label="Show the browser"
        about="Opens a window in which you can watch what a workflow does."
        isOn={browser.headed}
        isDisabled={action.isBusy}
        onChange={(headed) => action.run(() => store.change({ change: 'browser_window', headed }))}
      />
      <ActionError action={action} />
    </Section>
  );
}
