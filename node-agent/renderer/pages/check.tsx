import { useState } from 'react';
import type { TestPart, TestResult } from '../../../shared/companion/control.ts';
import { useAction, useSelected, useStore } from '../companion-context.tsx';
import { ActionError, Badge, Button, Lines } from '../controls.tsx';
import { LinkIcon, powerIcons } from '../icons.tsx';
import { InlinePicture } from '../pictures.tsx';
import { RemedyLine, describePermission } from '../remedy.tsx';
import { durationOf, partNames, partWords } from '../words.ts';

const stateWords = {
  passed: ['Works', 'good'],
  failed: ['Does not work', 'bad'],
  off: ['Switched off', 'plain'],
} as const;

function Result({ result }: { result: TestResult }) {
  const { permission } = result;
  if (result.state === 'off')
    return <p className="check-result">You have switched it off under Permissions, so it was not tested.</p>;
  return (
    <div className="check-result">
      {result.picture !== null && (
        <InlinePicture picture={result.picture} alt={`Result: ${partWords[result.part].name}`} />
      )}
      <p>
        <Lines text={result.detail} /> <span className="hint">{durationOf(result.durationMs)}</span>
      </p>
      {permission !== null && permission.state !== 'granted' && (
        <p className="hint">
          System: {describePermission(permission).toLowerCase()}.{' '}
          {permission.detail !== result.detail && <Lines text={permission.detail} />}
        </p>
      )}
      {permission !== null && permission.remedy !== null && result.state !== 'passed' && (
        <RemedyLine remedy={permission.remedy} />
      )}
    </div>
  );
}

/** Tests the parts that the owner chose by running them, and shows what blocks each of them. */
export function CheckPage() {
  const store = useStore();
  const results = useSelected((data) => data.results);
  const action = useAction();
  const [chosen, setChosen] = useState<ReadonlySet<TestPart>>(new Set(partNames));
  const [requested, setRequested] = useState<ReadonlySet<TestPart>>(new Set());
  const toggle = (part: TestPart) =>
    setChosen(new Set(partNames.filter((name) => chosen.has(name) !== (name === part))));
  const run = () =>
    action.run(async () => {
      const parts = partNames.filter((part) => chosen.has(part));
      setRequested(chosen);
      store.setResults([]);
      store.setResults((await store.call('test', { parts })).results);
    });
  return (
    <>
      <div className="page-head">
        <h1>Check</h1>
        <p>
          Tests each part by running it, and shows what a workflow would get. Parts that you have switched off are not
          tested, and no picture or sound is sent to the hub.
        </p>
      </div>
      <div className="card">
        <ul className="rows">
          {partNames.map((part) => {
            const { name, about } = partWords[part];
            const Icon = part === 'hub' ? LinkIcon : powerIcons[part];
            const result = results.find((found) => found.part === part);
            return (
              <li key={part} className="check">
                <label className="check-head">
                  <input
                    type="checkbox"
                    checked={chosen.has(part)}
                    disabled={action.isBusy}
                    onChange={() => toggle(part)}
                  />
                  <span className="type-icon">
                    <Icon />
                  </span>
                  <span className="row-text">
                    <strong>{name}</strong>
                    <span className="row-about">{about}</span>
                  </span>
                </label>
                <span className="check-state" role="status">
                  {result !== undefined && (
                    <Badge tone={stateWords[result.state][1]}>{stateWords[result.state][0]}</Badge>
                  )}
                  {result === undefined && requested.has(part) && (
                    <span className="hint">{action.isBusy ? 'Testing…' : 'No result'}</span>
                  )}
                </span>
                {result !== undefined && <Result result={result} />}
              </li>
            );
          })}
        </ul>
      </div>
      <ActionError action={action} title="The check did not run" />
      <div className="form-end">
        <Button variant="main" size="big" disabled={chosen.size === 0 || action.isBusy} onClick={() => run()}>
          {action.isBusy ? 'Checking…' : 'Run the check'}
        </Button>
      </div>
    </>
  );
}
