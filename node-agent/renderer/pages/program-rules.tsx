import { useState } from 'react';
import {
  isRiskyVariable,
  riskyVariableWarning,
  withoutAskingWarning,
} from '../../../shared/companion/consent-warnings.ts';
import type { ProgramRule } from '../../../shared/companion/settings.ts';
import { useAction, useCompanionState, useNow, useStore } from '../companion-context.tsx';
import { ActionError, Badge, Button, Choice, Empty, Field, Line, Section, ToggleRow } from '../controls.tsx';
import { CrossIcon } from '../icons.tsx';
import { ListEditor } from '../list-editor.tsx';
import { Decision } from '../modal.tsx';
import { momentOf } from '../words.ts';

const decisions = [
  ['allow', 'Allow'],
  ['deny', 'Never allow'],
] as const;
const times = [
  ['', 'Permanently'],
  ['30', 'For 30 minutes'],
  ['60', 'For 1 hour'],
  ['480', 'For 8 hours'],
] as const;

function AddRule() {
  const store = useStore();
  const action = useAction();
  const [pattern, setPattern] = useState('');
  const [decision, setDecision] = useState<ProgramRule['decision']>('allow');
  const [minutes, setMinutes] = useState('');
  const [folder, setFolder] = useState('');
  const text = pattern.trim();
  const add = () => {
    const limit = minutes === '' ? {} : { minutes: Number(minutes) };
    const folderOption = decision === 'deny' || folder.trim() === '' ? {} : { folder: folder.trim() };
    action.run(
      () => store.change({ change: 'add_rule', decision, pattern: text, ...folderOption, ...limit }),
      () => setPattern(''),
    );
  };
  return (
    <form
      className="rule-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (text !== '') add();
      }}
    >
      <Field
        label="Command line"
        placeholder="git status **"
        value={pattern}
        onChange={(event) => setPattern(event.target.value)}
      />
      {decision === 'allow' && (
        <Field
          label="Folder in which it is allowed, with the folders below it"
          placeholder="Your home folder itself"
          value={folder}
          onChange={(event) => setFolder(event.target.value)}
        />
      )}
      <div className="inline-form">
        <Choice
          label="Decision"
          value={decision}
          options={decisions}
          onChange={(value) => setDecision(value === 'deny' ? 'deny' : 'allow')}
        />
        <Choice label="How long" value={minutes} options={times} onChange={setMinutes} />
        <Button type="submit" disabled={text === '' || action.isBusy}>
          Add rule
        </Button>
      </div>
      <details className="help">
        <summary>How to write a rule</summary>
        <p>
          Write the words of a command line. <code>*</code> matches any part of one word, and a last word{' '}
          <code>**</code> matches any further words. Put words with spaces in double quotes. Rules that never allow take
          precedence. A rule that allows applies in its folder only, and never in a folder that receives downloads.
        </p>
        <dl>
          <dt>
            <code>git status</code>
          </dt>
          <dd>exactly this</dd>
          <dt>
            <code>git log *</code>
          </dt>
          <dd>with exactly one more word</dd>
          <dt>
            <code>backup-* --to /srv/**</code>
          </dt>
          <dd>
            every program whose name begins with <code>backup-</code>. Inside a word, <code>**</code> means the same as{' '}
            <code>*</code>
          </dd>
          <dt>
            <code>npm run **</code>
          </dt>
          <dd>with any further words, or none</dd>
        </dl>
      </details>
      <ActionError action={action} />
    </form>
  );
}

function RuleRow({ rule }: { rule: ProgramRule }) {
  const store = useStore();
  const action = useAction();
  const now = useNow(30_000);
  return (
    <li className="row">
      <div className="row-text">
        <div className="rule">
          <Badge tone={rule.decision === 'allow' ? 'good' : 'bad'}>
            {rule.decision === 'allow' ? 'Allow' : 'Never'}
          </Badge>
          <code>
            <Line text={rule.pattern} />
          </code>
        </div>
        <div className="details">
          {rule.exact !== null && <span>exactly the command of a prompt</span>}
          {rule.exact === null && rule.decision === 'allow' && (
            <span>{rule.folder === undefined ? 'in your home folder' : <Line text={`in ${rule.folder}`} />}</span>
          )}
          <span>{rule.until === null ? 'permanent' : `until ${momentOf(rule.until, now)}`}</span>
        </div>
        <ActionError action={action} />
      </div>
      <Button
        variant="quiet"
        size="small"
        className="icon-only"
        aria-label="Remove this rule"
        disabled={action.isBusy}
        onClick={() => action.run(() => store.change({ change: 'remove_rule', id: rule.id }))}
      >
        <CrossIcon size={16} />
      </Button>
    </li>
  );
}

/** Turns prompts on immediately, and off only after a confirmation that explains the effect. */
function AskSwitch() {
  const store = useStore();
  const ask = useCompanionState(({ settings }) => settings.system.ask);
  const action = useAction();
  const [isConfirming, setConfirming] = useState(false);
  const turn = (on: boolean) =>
    action.run(
      () => store.change({ change: 'ask', ask: on }),
      () => setConfirming(false),
    );
  const cancel = () => {
    setConfirming(false);
    action.clear();
  };
  return (
    <>
      <ToggleRow
        label="Ask me before each program"
        about="Applies if no rule below matches. Without your answer the program does not run. While this is off, programs run without asking."
        isOn={ask}
        isDisabled={action.isBusy}
        onChange={(on) => (on ? turn(true) : setConfirming(true))}
      />
      {!isConfirming && <ActionError action={action} />}
      <Decision isOpen={isConfirming} title="Run programs without asking you?" onClose={cancel}>
        <p>{withoutAskingWarning}</p>
        <ActionError action={action} title="The setting was not changed" />
        <div className="popup-end">
          <Button size="big" disabled={action.isBusy} onClick={cancel}>
            Keep asking me
          </Button>
          <Button variant="danger" size="big" disabled={action.isBusy} onClick={() => turn(false)}>
            Run without asking
          </Button>
        </div>
      </Decision>
    </>
  );
}

/** The variables that workflows may set. Those that can load code are allowed only after a confirmation. */
function Variables() {
  const store = useStore();
  const variables = useCompanionState(({ settings }) => settings.system.variables);
  const action = useAction();
  const [risky, setRisky] = useState<string[]>([]);
  const allow = (names: string[], isRisky: boolean) =>
    store.change({ change: 'variables', mode: 'add', names, ...(isRisky ? { isRisky } : {}) });
  const edit = async (next: string[]) => {
    const added = next.filter((name) => !variables.includes(name));
    const removed = variables.filter((name) => !next.includes(name));
    if (added.some(isRiskyVariable)) setRisky(added);
    else if (added.length > 0) await allow(added, false);
    else if (removed.length > 0) await store.change({ change: 'variables', mode: 'remove', names: removed });
  };
  const cancel = () => {
    setRisky([]);
    action.clear();
  };
  const confirm = () =>
    action.run(
      () => allow(risky, true),
      () => setRisky([]),
    );
  return (
    <>
      <ListEditor
        label="Variables that workflows may set"
        hint="Names such as API_TOKEN. Variables that begin with INPUT_, and those of language, time zone and terminal, are always permitted."
        placeholder="API_TOKEN"
        items={variables}
        empty="The list is empty: every other variable is refused."
        onChange={edit}
      />
      <Decision isOpen={risky.length > 0} title="Let workflows set this variable?" onClose={cancel}>
        <p>
          <Line text={risky.join(', ')} /> {riskyVariableWarning}
        </p>
        <ActionError action={action} title="The setting was not changed" />
        <div className="popup-end">
          <Button size="big" disabled={action.isBusy} onClick={cancel}>
            Cancel
          </Button>
          <Button variant="danger" size="big" disabled={action.isBusy} onClick={confirm}>
            Allow the variable
          </Button>
        </div>
      </Decision>
    </>
  );
}

/** Which programs may run: the ask switch, the rules, the list of permitted programs, and the variables that they may get. */
export function ProgramRules() {
  const store = useStore();
  const system = useCompanionState(({ settings }) => settings.system);
  return (
    <Section
      title="Programs"
      about="Each command that was approved at the hub is checked here again, byte for byte, before it runs."
    >
      <AskSwitch />
      {system.rules.length === 0 ? (
        <Empty>There are no rules.</Empty>
      ) : (
        <ul className="rows" aria-label="Rules">
          {system.rules.map((rule) => (
            <RuleRow key={rule.id} rule={rule} />
          ))}
        </ul>
      )}
      <AddRule />
      <ListEditor
        label="Only these programs"
        hint="Names such as git, or full paths."
        placeholder="git"
        items={system.programs}
        empty="The list is empty: every program is permitted."
        onChange={(programs) => store.change({ change: 'programs', programs })}
      />
      <Variables />
    </Section>
  );
}
