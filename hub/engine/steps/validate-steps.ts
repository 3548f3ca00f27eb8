import type { z } from 'zod';
import type { Step } from '../../../shared/contract/automations/steps.ts';
import type { Entitlement } from '../../../shared/contract/define.ts';
import { AppError } from '../../../shared/errors.ts';
import type { ErrorDetail } from '../../../shared/errors.ts';
import { fieldPath } from '../../../shared/field-path.ts';
import { schemaMessage } from '../../../shared/issue-messages.ts';
import { findTemplateProblems, hasTemplate } from '../../../shared/template.ts';
import type { SkillCatalog } from '../skill.ts';
import { callOf } from './steps.ts';

type Path = readonly PropertyKey[];

/** Maximum problems in the details of an error. */
const maxDetails = 50;

/** Whether the value at `path`, or a string in place of one of its parents, contains a template. Its type is known only in a run. */
function isTemplated(root: unknown, path: Path): boolean {
  let value = root;
  for (const part of path) {
    if (typeof value === 'string') break;
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return false;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  if (typeof value === 'string') return hasTemplate(value);
  return typeof value === 'object' && value !== null && JSON.stringify(value).includes('{{');
}

/** Finds the problems of the literal parts of a skill's input. Parts with templates are validated when they are rendered. */
function findInputProblems(schema: z.ZodObject, input: Record<string, unknown>, path: Path): ErrorDetail[] {
  const parsed = schema.safeParse(input);
  if (parsed.success) return [];
  return parsed.error.issues
    .filter((issue) => !isTemplated(input, issue.path))
    .map((issue) => {
      const at = [...path, ...issue.path];
      if (issue.code === 'unrecognized_keys')
        return { path: fieldPath(at), message: `has unknown fields: ${issue.keys.join(', ')}` };
      const missing = issue.code === 'invalid_type' && !hasOwnPath(input, issue.path);
      return { path: fieldPath(at), message: missing ? 'is required' : schemaMessage(issue) };
    });
}

function hasOwnPath(root: unknown, path: Path): boolean {
  let value = root;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return false;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return true;
}

function findApprovalProblems(step: Extract<Step, { type: 'approval' }>, path: Path): ErrorDetail[] {
  const problem = (field: string, message: string) => ({ path: fieldPath([...path, field]), message });
  const approverCount = new Set(step.approvers ?? []).size;
  const details: ErrorDetail[] = [];
  if (step.required > 1 && step.approvers === undefined) details.push(problem('required', 'needs approvers'));
  else if (step.approvers !== undefined && step.required > approverCount)
    details.push(problem('required', `must be at most ${approverCount}, the number of approvers`));
  if ((step.escalateAfterSeconds === undefined) !== (step.escalateTo === undefined))
    details.push(
      problem(
        step.escalateTo === undefined ? 'escalateTo' : 'escalateAfterSeconds',
        'is required beside its counterpart',
      ),
    );
  if (step.escalateTo !== undefined && step.approvers === undefined)
    details.push(problem('approvers', 'is required where escalateTo is given'));
  return details;
}

/**
 * Rejects steps that could not run: an empty list, unknown skills, invalid inputs, invalid templates, duplicate ids, and
 * skills of products that the workspace is not entitled to.
 * @throws AppError `workflow_invalid` with the path of each problem, or `product_not_entitled`.
 */
export function validateSteps(
  steps: readonly Step[],
  skills: SkillCatalog,
  entitlements: Record<Entitlement, boolean>,
): void {
  const details: ErrorDetail[] = [];
  const missingEntitlements: ErrorDetail[] = [];
  const earlierIds = new Set<string>();
  if (steps.length === 0) details.push({ path: 'stepsJson', message: 'must have at least one step' });
  for (const [index, step] of steps.entries()) {
    const path = ['stepsJson', index];
    const templated = { ...step, id: undefined, name: undefined };
    for (const problem of findTemplateProblems(templated, earlierIds)) {
      details.push({ path: fieldPath([...path, ...problem.path]), message: problem.message });
    }
    if (step.type === 'skill' || step.type === 'deliver') {
      const { skillId, input } = callOf(step);
      const skill = skills.find(skillId);
      if (skill === undefined) {
        details.push({
          path: fieldPath([...path, 'skillId']),
          message: `there is no skill "${skillId.slice(0, 100)}"; known are ${skills
            .list()
            .map(({ id }) => id)
            .join(', ')}`,
        });
      } else {
        details.push(...findInputProblems(skill.input, input, step.type === 'skill' ? [...path, 'input'] : path));
        for (const entitlement of skill.requires) {
          if (!entitlements[entitlement])
            missingEntitlements.push({
              path: fieldPath([...path, step.type === 'skill' ? 'skillId' : 'provider']),
              message: `${skill.id} needs the entitlement ${entitlement}`,
            });
        }
      }
    }
    const usesEmailChannel =
      step.type === 'deliver'
        ? step.provider === 'email' && step.channelId !== undefined
        : step.type === 'skill' && step.skillId === 'channel.deliver' && step.input['provider'] === 'email';
    if (usesEmailChannel && !entitlements.business_email)
      missingEntitlements.push({
        path: fieldPath([...path, 'provider']),
        message: 'a channel of email needs the entitlement business_email',
      });
    if (step.type === 'agent' && !entitlements.ai_agent)
      missingEntitlements.push({
        path: fieldPath([...path, 'type']),
        message: 'an agent step needs the entitlement ai_agent',
      });
    if (step.type === 'approval') details.push(...findApprovalProblems(step, path));
    if (step.id !== undefined) {
      if (earlierIds.has(step.id))
        details.push({ path: fieldPath([...path, 'id']), message: `"${step.id}" is used by an earlier step` });
      earlierIds.add(step.id);
    }
  }
  if (details.length > 0) {
    const first = details[0] as ErrorDetail;
    throw new AppError(
      'workflow_invalid',
      `The steps can't run: ${first.path} ${first.message}${details.length > 1 ? ` (and ${details.length - 1} more)` : ''}.`,
      { details: details.slice(0, maxDetails) },
    );
  }
  if (missingEntitlements.length > 0) {
    throw new AppError(
      'product_not_entitled',
      `This workspace is not entitled to what its steps use: ${missingEntitlements[0]?.message}.`,
      { details: missingEntitlements },
    );
  }
}
