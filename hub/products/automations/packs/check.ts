import { z } from 'zod';
import { packManifest } from '../../../../shared/contract/automations/packs.ts';
import type { NodePower, PackGrants, PackManifest } from '../../../../shared/contract/automations/packs.ts';
import { step as stepSchema } from '../../../../shared/contract/automations/steps.ts';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { trigger as triggerSchema } from '../../../../shared/contract/automations/triggers.ts';
import { entitlementNames } from '../../../../shared/contract/define.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { ErrorDetail } from '../../../../shared/errors.ts';
import { fieldPath } from '../../../../shared/field-path.ts';
import { schemaMessage } from '../../../../shared/issue-messages.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { TemplateError } from '../../../../shared/template.ts';
import { addressesOf, hostOf, normalHost } from '../../../engine/index.ts';
import type { WorkflowGrants } from '../../../engine/index.ts';
import { fillInputs, inputsIn, sampleInputs, withoutCondition } from './inputs.ts';

/** The properties of a skill that packs need. */
export interface PackSkill {
  id: string;
  title: string;
  effect: string;
  needsApproval: boolean;
}

export interface PackRules {
  skills: () => readonly PackSkill[];
  /** Refuses steps that could not run. @throws AppError with the path of each problem. */
  validateSteps: (steps: readonly Step[], entitlements: Record<Entitlement, boolean>) => void;
  /** The skill that a step calls, with its input. */
  callOf: (step: Extract<Step, { type: 'skill' | 'log' | 'deliver' }>) => { skillId: string; input: JsonObject };
}

/** Skills that packs must not use: they start other workflows, mail campaigns, or run arbitrary scripts in a page. */
const forbidden = new Set(['subagent.spawn', 'marketing.campaign_send', 'browser.evaluate']);
export const isAllowedInPacks = (skillId: string) => !forbidden.has(skillId);

function powerOf(skillId: string): NodePower | null {
  if (skillId.startsWith('browser.')) return 'browser';
  const powers: Record<string, NodePower> = {
    'node.ping': 'ping',
    'node.capture_screen': 'screen',
    'node.capture_camera': 'camera',
    'node.capture_audio': 'audio',
    'node.files_list': 'files',
    'node.files_read': 'files',
    'system.run': 'system',
  };
  return powers[skillId] ?? null;
}

const entitledToAll = Object.fromEntries(entitlementNames.map((name) => [name, true])) as Record<Entitlement, boolean>;

export interface CheckedPack {
  problems: ErrorDetail[];
  manifest: PackManifest | null;
  grants: PackGrants | null;
}

/** Checks a pack. @returns every problem with its path and, without problems, what the pack may do. */
export function checkPack(value: unknown, rules: PackRules): CheckedPack {
  const parsed = packManifest.safeParse(value);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => ({
      path: fieldPath(issue.path),
      message:
        issue.code === 'unrecognized_keys' ? `has unknown fields: ${issue.keys.join(', ')}` : schemaMessage(issue),
    }));
    return { problems, manifest: null, grants: null };
  }
  const manifest = parsed.data;
  const problems: ErrorDetail[] = [];
  const add = (path: string, message: string) => problems.push({ path, message });
  checkInputs(manifest, add);
  checkWritten(manifest, add);
  const inputs = sampleInputs(manifest.inputsSchema);
  const steps = checkGraph(manifest, inputs, rules, add);
  if (steps !== null) {
    checkPowers(manifest, steps, hostsWith(manifest, inputs), rules, add);
    checkDeclared(manifest, steps, rules, add);
  }
  if (problems.length > 0) return { problems, manifest, grants: null };
  const used = rules.skills().filter(({ id }) => manifest.skills.includes(id));
  const requiresApproval =
    used.some(({ needsApproval }) => needsApproval) || manifest.graph.steps.some((step) => step['type'] === 'approval');
  return {
    problems,
    manifest,
    grants: {
      skills: used.map(({ id, title, effect }) => ({ id, title, effect })),
      hosts: manifest.hosts,
      secrets: manifest.secrets,
      nodePowers: manifest.nodePowers,
      approvals: requiresApproval,
    },
  };
}

type Add = (path: string, message: string) => void;

function checkInputs({ inputsSchema, secrets, hosts, graph }: PackManifest, add: Add): void {
  const known = Object.keys(inputsSchema.properties);
  inputsSchema.required.forEach(
    (name, index) => known.includes(name) || add(`inputsSchema.required[${index}]`, `"${name}" is not an input`),
  );
  secrets.forEach((name, index) => known.includes(name) || add(`secrets[${index}]`, `"${name}" is not an input`));
  hosts.forEach((host, index) => {
    const input = host.startsWith('inputs.') ? host.slice('inputs.'.length) : null;
    if (input !== null && inputsSchema.properties[input]?.format !== 'uri')
      add(`hosts[${index}]`, `"${input}" is not an input with format uri`);
    if (input === null && normalHost(host) === null)
      add(`hosts[${index}]`, 'must be a host (with its port unless that is the default port) or inputs.<name>');
  });
  graph.steps.forEach(
    ({ ifInput }, index) =>
      ifInput === undefined ||
      (typeof ifInput === 'string' && known.includes(ifInput)) ||
      add(`graph.steps[${index}].ifInput`, 'must be the name of an input'),
  );
  for (const { name, path } of inputsIn(graph as unknown as JsonValue, 'graph'))
    if (!known.includes(name)) add(path, `{{inputs.${name}}} is no input`);
}

/** Parses the graph with sample values for its inputs; null when that is impossible. */
function checkGraph({ graph }: PackManifest, inputs: JsonObject, rules: PackRules, add: Add): Step[] | null {
  let filled: { trigger: JsonValue; steps: JsonValue[] };
  try {
    filled = fillInputs(
      { trigger: graph.trigger, steps: graph.steps.map(withoutCondition) } as unknown as JsonValue,
      inputs,
    ) as typeof filled;
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    add('graph', error.message);
    return null;
  }
  const trigger = triggerSchema.safeParse(filled.trigger);
  if (!trigger.success)
    trigger.error.issues.forEach((issue) => add(fieldPath(['graph', 'trigger', ...issue.path]), schemaMessage(issue)));
  const steps = z.array(stepSchema).safeParse(filled.steps);
  if (!steps.success) {
    steps.error.issues.forEach((issue) => add(fieldPath(['graph', 'steps', ...issue.path]), schemaMessage(issue)));
    return null;
  }
  try {
    rules.validateSteps(steps.data, entitledToAll);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    error.details?.forEach(({ path, message }) => add(path.replace(/^stepsJson/, 'graph.steps'), message));
    return null;
  }
  return steps.data;
}

/** Checks the parts of a graph that must be literal, so that readers can review the pack. */
function checkWritten({ graph }: PackManifest, add: Add): void {
  graph.steps.forEach((step, index) => {
    for (const field of ['type', 'skillId'])
      if (typeof step[field] === 'string' && step[field].includes('{{'))
        add(`graph.steps[${index}].${field}`, 'must be a literal value: inputs must not change what a pack does');
    const { input } = step;
    const addresses = [
      ...(typeof input === 'object' && input !== null && !Array.isArray(input)
        ? addressesOf(input).map(({ field, address }) => ({ field: `input.${field}`, address }))
        : []),
      ...addressesOf(step),
    ];
    for (const { field, address } of addresses) {
      // An input that is the whole address declares its host. An input that is only a part of the address could change
      // the host.
      if (!wholeInput.test(address) && hostOf(address) === null)
        add(
          `graph.steps[${index}].${field}`,
          'must begin with a literal host, or be exactly one input with format uri',
        );
    }
  });
  const { webhook } = graph.trigger;
  const token =
    typeof webhook === 'object' && webhook !== null && !Array.isArray(webhook) ? webhook['token'] : undefined;
  if (typeof token === 'string' && !wholeInput.test(token))
    add('graph.trigger.webhook.token', 'must be an input, because every reader of the pack can see a literal value');
}

const wholeInput = /^\{\{\s*inputs\.[A-Za-z0-9_]+\s*\}\}$/;

/** The declared hosts of a pack, with the hosts of its inputs. */
function hostsWith({ hosts }: PackManifest, inputs: JsonObject): string[] {
  return hosts.flatMap((host) => {
    const value = host.startsWith('inputs.') ? inputs[host.slice('inputs.'.length)] : undefined;
    const known = value === undefined ? normalHost(host) : typeof value === 'string' ? hostOf(value) : null;
    return known === null ? [] : [known];
  });
}

/** Checks that a graph with filled inputs uses only the skills, hosts and node powers that the pack declares. */
function checkPowers(
  manifest: PackManifest,
  steps: readonly Step[],
  hosts: readonly string[],
  rules: PackRules,
  add: Add,
): void {
  steps.forEach((step, index) => {
    const at = `graph.steps[${index}]`;
    // An agent of the workspace has tools that the pack does not declare.
    if (step.type === 'agent' && step.agentId !== undefined) add(`${at}.agentId`, "can't be set in a pack");
    if (step.type === 'agent' && step.toolProfileId !== undefined) add(`${at}.toolProfileId`, "can't be set in a pack");
    const skillId = skillOf(step, rules);
    if (skillId === null) return;
    if (!manifest.skills.includes(skillId)) add('skills', `lacks ${skillId}, which the graph uses`);
    const power = powerOf(skillId);
    if (power !== null && !manifest.nodePowers.includes(power))
      add(`${at}.skillId`, `${skillId} needs "${power}" in nodePowers`);
    if (step.type === 'agent' || step.type === 'approval') return;
    for (const { field, address } of addressesOf(rules.callOf(step).input)) {
      const host = hostOf(address);
      const path = `${at}.${step.type === 'skill' ? 'input.' : ''}${field}`;
      if (host === null) add(path, 'must begin with a literal host, or be exactly one input with format uri');
      else if (!hosts.includes(host)) add(path, `needs "${host}" in hosts`);
    }
  });
}

/** Checks that a pack declares only powers that its graph uses and that packs may use. */
function checkDeclared(manifest: PackManifest, steps: readonly Step[], rules: PackRules, add: Add): void {
  const usedSkills = new Set(steps.map((step) => skillOf(step, rules)));
  const usedPowers = new Set([...usedSkills].map((skillId) => (skillId === null ? null : powerOf(skillId))));
  manifest.skills.forEach((skillId, index) => {
    if (!isAllowedInPacks(skillId)) add(`skills[${index}]`, `${skillId} is not allowed in packs`);
    else if (!usedSkills.has(skillId))
      add(`skills[${index}]`, `${skillId} is not used by the graph; declare only what the graph uses`);
  });
  manifest.nodePowers.forEach(
    (power, index) => usedPowers.has(power) || add(`nodePowers[${index}]`, `${power} is not used by the graph`),
  );
}

/** The skill of a step; null for an approval, which uses none. */
function skillOf(step: Step, rules: PackRules): string | null {
  if (step.type === 'approval') return null;
  return step.type === 'agent' ? 'ai.invoke' : rules.callOf(step).skillId;
}

/** Checks the graph of a pack with the inputs of a workspace. @returns its problems, and what its workflow may do. */
export function checkFilled(
  manifest: PackManifest,
  inputs: JsonObject,
  steps: readonly Step[],
  rules: PackRules,
): { problems: ErrorDetail[]; grants: WorkflowGrants } {
  const problems: ErrorDetail[] = [];
  const hosts = hostsWith(manifest, inputs);
  checkPowers(manifest, steps, hosts, rules, (path, message) => problems.push({ path, message }));
  return { problems, grants: { skills: manifest.skills, hosts } };
}
