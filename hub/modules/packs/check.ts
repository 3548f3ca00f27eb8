import { z } from 'zod';
import { packManifest } from '../../../shared/contract/packs.ts';
import type { NodePower, PackGrants, PackManifest } from '../../../shared/contract/packs.ts';
import { entitlementNames } from '../../../shared/contract/define.ts';
import type { Entitlement } from '../../../shared/contract/define.ts';
import { step as stepSchema } from '../../../shared/contract/steps.ts';
import type { Step } from '../../../shared/contract/steps.ts';
import { trigger as triggerSchema } from '../../../shared/contract/triggers.ts';
import { AppError } from '../../../shared/errors.ts';
import type { ErrorDetail } from '../../../shared/errors.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { fillInputs, inputsIn, sampleInputs, withoutCondition } from './inputs.ts';

/** What packs need to know of the skills of this hub. */
export interface PackSkill {
  id: string;
  title: string;
  effect: string;
  needsApproval: boolean;
}

export interface PackRules {
  skills: readonly PackSkill[];
  /** Refuses steps that could not run. @throws AppError with the path of each problem. */
  validateSteps: (steps: readonly Step[], entitlements: Record<Entitlement, boolean>) => void;
  /** The skill that a step calls, with its input. */
  callOf: (step: Extract<Step, { type: 'skill' | 'log' | 'deliver' }>) => { skillId: string; input: JsonObject };
}

/** Skills that no pack may use: they start other workflows, mail campaigns, or reach from a page whatever a script likes. */
const forbidden = new Set(['subagent.spawn', 'marketing.campaign_send', 'browser.evaluate']);
export const isAllowedInPacks = (skillId: string) => !forbidden.has(skillId);

function powerOf(skillId: string): NodePower | null {
  if (skillId.startsWith('browser.')) return 'browser';
  const powers: Record<string, NodePower> = { 'node.ping': 'ping', 'node.capture_screen': 'screen', 'node.capture_camera': 'camera', 'node.capture_audio': 'audio', 'node.files_list': 'files', 'node.files_read': 'files', 'system.run': 'system' };
  return powers[skillId] ?? null;
}

const entitledToAll = Object.fromEntries(entitlementNames.map((name) => [name, true])) as Record<Entitlement, boolean>;

const formatPath = (path: readonly PropertyKey[]) => path.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? String(part) : `.${String(part)}`)).join('');

export interface CheckedPack {
  problems: ErrorDetail[];
  manifest: PackManifest | null;
  grants: PackGrants | null;
}

/** Everything that is wrong with a pack, each with its path; what it may do when nothing is. */
export function checkPack(value: unknown, rules: PackRules): CheckedPack {
  const parsed = packManifest.safeParse(value);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => ({ path: formatPath(issue.path), message: issue.code === 'unrecognized_keys' ? `has unknown fields: ${issue.keys.join(', ')}` : issue.message }));
    return { problems, manifest: null, grants: null };
  }
  const manifest = parsed.data;
  const problems: ErrorDetail[] = [];
  const add = (path: string, message: string) => problems.push({ path, message });
  checkInputs(manifest, add);
  const steps = checkGraph(manifest, rules, add);
  if (steps !== null) checkPowers(manifest, steps, rules, add);
  if (problems.length > 0) return { problems, manifest, grants: null };
  const used = rules.skills.filter(({ id }) => manifest.skills.includes(id));
  const asks = used.some(({ needsApproval }) => needsApproval) || manifest.graph.steps.some((step) => step['type'] === 'approval');
  return { problems, manifest, grants: { skills: used.map(({ id, title, effect }) => ({ id, title, effect })), hosts: manifest.hosts, secrets: manifest.secrets, nodePowers: manifest.nodePowers, approvals: asks } };
}

type Add = (path: string, message: string) => void;

function checkInputs({ inputsSchema, secrets, hosts, graph }: PackManifest, add: Add): void {
  const known = Object.keys(inputsSchema.properties);
  inputsSchema.required.forEach((name, index) => known.includes(name) || add(`inputsSchema.required[${index}]`, `"${name}" is no input`));
  secrets.forEach((name, index) => known.includes(name) || add(`secrets[${index}]`, `"${name}" is no input`));
  hosts.forEach((host, index) => {
    const input = host.startsWith('inputs.') ? host.slice('inputs.'.length) : null;
    if (input !== null && inputsSchema.properties[input]?.format !== 'uri') add(`hosts[${index}]`, `"${input}" is no input of format uri`);
  });
  graph.steps.forEach(({ ifInput }, index) => ifInput === undefined || (typeof ifInput === 'string' && known.includes(ifInput)) || add(`graph.steps[${index}].ifInput`, 'must be the name of an input'));
  for (const { name, path } of inputsIn(graph as unknown as JsonValue, 'graph')) if (!known.includes(name)) add(path, `{{inputs.${name}}} is no input`);
}

/** Parses the graph with samples in place of its inputs; null when it can't be. */
function checkGraph({ graph, inputsSchema }: PackManifest, rules: PackRules, add: Add): Step[] | null {
  const filled = fillInputs({ trigger: graph.trigger, steps: graph.steps.map(withoutCondition) } as unknown as JsonValue, sampleInputs(inputsSchema)) as { trigger: JsonValue; steps: JsonValue[] };
  const trigger = triggerSchema.safeParse(filled.trigger);
  if (!trigger.success) trigger.error.issues.forEach((issue) => add(formatPath(['graph', 'trigger', ...issue.path]), issue.message));
  const steps = z.array(stepSchema).safeParse(filled.steps);
  if (!steps.success) {
    steps.error.issues.forEach((issue) => add(formatPath(['graph', 'steps', ...issue.path]), issue.message));
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

/** A pack does what it declares and nothing else: skills, hosts and powers over nodes. */
function checkPowers(manifest: PackManifest, steps: Step[], rules: PackRules, add: Add): void {
  const usedSkills = new Set<string>();
  const usedPowers = new Set<NodePower>();
  steps.forEach((step, index) => {
    const at = `graph.steps[${index}]`;
    if (step.type === 'approval') return;
    if (step.type === 'agent') {
      usedSkills.add('ai.invoke');
      // An agent of the workspace brings tools that the pack does not declare.
      if (step.agentId !== undefined) add(`${at}.agentId`, 'can\'t be set in a pack');
      if (step.toolProfileId !== undefined) add(`${at}.toolProfileId`, 'can\'t be set in a pack');
      return;
    }
    const { skillId } = rules.callOf(step);
    usedSkills.add(skillId);
    const power = powerOf(skillId);
    if (power !== null) usedPowers.add(power);
    if (power !== null && !manifest.nodePowers.includes(power)) add(`${at}.skillId`, `${skillId} needs "${power}" in nodePowers`);
    const raw = manifest.graph.steps[index] as JsonObject;
    for (const { path, url } of addressesIn(raw)) checkHost(manifest, url, `${at}.${path}`, add);
  });
  for (const skillId of usedSkills) if (!manifest.skills.includes(skillId)) add('skills', `lacks ${skillId}, which the graph uses`);
  manifest.skills.forEach((skillId, index) => {
    if (!isAllowedInPacks(skillId)) add(`skills[${index}]`, `${skillId} is not allowed in packs`);
    else if (!usedSkills.has(skillId)) add(`skills[${index}]`, `${skillId} is not used by the graph; a pack declares no more than it needs`);
  });
  manifest.nodePowers.forEach((power, index) => usedPowers.has(power) || add(`nodePowers[${index}]`, `${power} is not used by the graph`));
}

/** The addresses that a step calls or opens, as the pack writes them. */
function addressesIn(raw: JsonObject): { path: string; url: string }[] {
  const input = raw['input'];
  const fromInput = typeof input === 'object' && input !== null && !Array.isArray(input) ? [['input.url', input['url']], ['input.mediaUrl', input['mediaUrl']]] : [];
  return [...fromInput, ['mediaUrl', raw['mediaUrl']]].flatMap(([path, url]) => (typeof url === 'string' ? [{ path: String(path), url }] : []));
}

function checkHost({ hosts }: PackManifest, url: string, path: string, add: Add): void {
  // Anything behind the input could change its host.
  const input = /^\{\{\s*inputs\.([A-Za-z0-9_]+)\s*\}\}$/.exec(url)?.[1];
  if (input !== undefined) {
    if (!hosts.includes(`inputs.${input}`)) add(path, `needs "inputs.${input}" in hosts`);
    return;
  }
  const host = /^https?:\/\/([^/?#:{}]+)(?=[/?#:]|$)/i.exec(url)?.[1]?.toLowerCase();
  if (host === undefined) add(path, 'must begin with a host that is written out, or be an input of format uri and nothing else');
  else if (!hosts.includes(host)) add(path, `needs "${host}" in hosts`);
}
