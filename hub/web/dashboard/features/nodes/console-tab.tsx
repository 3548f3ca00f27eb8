import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { Node, Skill } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { messagesOfError, SchemaForm, useSchemaCheck } from '../../forms/schema-form.tsx';
import { initialValue } from '../../forms/schema.ts';
import type { JsonRecord, JsonSchema, Messages } from '../../forms/schema.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Select } from '../../ui/form.tsx';
import { Empty, Section } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ConsoleNotes } from './console-notes.tsx';
import { ConsoleResult } from './console-result.tsx';
import { powerOf, powerState, powers } from './powers.ts';

/** Skills that run on a machine have this field. */
const isNodeSkill = ({ input }: Skill) => (input as JsonSchema).properties?.['nodeId'] !== undefined;

const advanced = [
  'waitMs',
  'timeoutMs',
  'dialogs',
  'promptText',
  'saveDownloadsTo',
  'pageId',
  'frame',
  'cursor',
  'failOnExitCode',
  'stdin',
];
const firstSkill = 'node.ping';

/** The schema of a skill without the choice of its node, which the page makes. */
function formSchema({ id, input }: Skill): JsonSchema {
  const schema = input as JsonSchema;
  const { nodeId: _id, node: _name, nodeTag: _tag, ...properties } = schema.properties ?? {};
  // The hub ignores this field.
  if (id === 'node.ping') delete properties['path'];
  return { ...schema, properties };
}

/** The form of one skill. Another skill has a form of its own. */
function SkillForm({ node, skill, onRun }: { node: Node; skill: Skill; onRun: (runId: string) => void }) {
  const { words, format } = useLanguage();
  const { nodes } = words;
  const schema = useMemo(() => formSchema(skill), [skill]);
  const check = useSchemaCheck();
  const [value, setValue] = useState(() => initialValue(schema) as JsonRecord);
  const [problems, setProblems] = useState<Messages>({});
  const run = useAction('runAutomationSkill', { onDone: ({ runId }) => onRun(runId) });
  const fromHub = messagesOfError(run.error, 'body.input', schema, value);
  const messages = Object.keys(problems).length > 0 ? problems : fromHub;
  return (
    <SchemaForm
      schema={schema}
      value={value}
      messages={messages}
      advanced={advanced}
      onChange={(changed) => {
        setValue(changed);
        setProblems({});
        run.reset();
      }}
      onSubmit={() => {
        const found = check(schema, value);
        setProblems(found);
        if (Object.keys(found).length > 0 || run.isPending) return;
        run.start({ params: { skillId: skill.id }, body: { input: { nodeId: node.id, ...value } } });
      }}
    >
      {Object.keys(fromHub).length === 0 && <ErrorNote error={run.error} />}
      <Button
        type="submit"
        variant="primary"
        className="max-w-full wrap-anywhere whitespace-normal!"
        isBusy={run.isPending}
        disabled={node.status === 'revoked'}
      >
        {format(nodes.runOn, { name: visibleLine(node.name) })}
      </Button>
    </SchemaForm>
  );
}

function SkillChoice({
  node,
  skills,
  selected,
  onSelect,
}: {
  node: Node;
  skills: readonly Skill[];
  selected: string;
  onSelect: (id: string) => void;
}) {
  const { nodes } = useLanguage().words;
  const groups = [null, ...powers].map((power) => ({
    power,
    list: skills.filter(({ id }) => powerOf(id) === power),
  }));
  return (
    <Field label={nodes.command}>
      {(attributes) => (
        <Select {...attributes} value={selected} onChange={({ target }) => onSelect(target.value)}>
          {groups.map(({ power, list }) => (
            <optgroup
              key={power ?? ''}
              label={
                power === null
                  ? nodes.noPower
                  : powerState(node, power).verdict === 'blocked'
                    ? `${nodes.power[power].name} – ${nodes.verdict.blocked}`
                    : nodes.power[power].name
              }
            >
              {list.map(({ id, title }) => (
                <option key={id} value={id}>
                  {title} ({id})
                </option>
              ))}
            </optgroup>
          ))}
        </Select>
      )}
    </Field>
  );
}

/** Runs single commands on a machine. */
export function ConsoleTab({ node }: { node: Node }) {
  const { words } = useLanguage();
  const { nodes } = words;
  const from = '/nodes/$nodeId/{-$tab}';
  const { skill: wanted = firstSkill, run } = useSearch({ from });
  const navigate = useNavigate({ from });
  const catalog = useQuery({ ...query('listAutomationSkillCatalog'), staleTime: Infinity });
  return (
    <Loaded of={catalog}>
      {({ skills: all }) => {
        const skills = all.filter(isNodeSkill);
        const skill = skills.find(({ id }) => id === wanted) ?? skills[0];
        if (skill === undefined) return <Empty title={nodes.noSkills} />;
        return (
          <div className="grid items-start gap-3.5 lg:grid-cols-2">
            <Section title={nodes.console} className="min-w-0">
              <SkillChoice
                node={node}
                skills={skills}
                selected={skill.id}
                onSelect={(id) => background(navigate({ search: { skill: id }, replace: true }))}
              />
              <ConsoleNotes node={node} skill={skill} />
              <SkillForm
                key={skill.id}
                node={node}
                skill={skill}
                onRun={(runId) => background(navigate({ search: { skill: skill.id, run: runId }, replace: true }))}
              />
            </Section>
            {run === undefined ? (
              <Section title={nodes.result} className="min-w-0">
                <p className="text-text-muted">{nodes.noResult}</p>
              </Section>
            ) : (
              <ConsoleResult key={run} runId={run} />
            )}
          </div>
        );
      }}
    </Loaded>
  );
}
