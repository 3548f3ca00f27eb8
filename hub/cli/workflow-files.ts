import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { z } from 'zod';
import { workflows as resource } from '../../shared/contract/automations/workflows.ts';
import type { Workflow } from '../../shared/contract/automations/workflows.ts';
import { AppError, notFound } from '../../shared/errors.ts';
import type { Workflows } from '../products/automations/index.ts';

/**
 * Workflows as JSON files with sorted keys. Files contain the id, so that an import finds the workflow, but no version,
 * times or secrets: a webhook token stays in the hub.
 */

/** Replaces webhook tokens in files. */
const tokenPlaceholder = '(kept in the hub itself)';

const fileShape = z.looseObject({ outrigger: z.literal('workflow'), id: z.uuid().optional() });

/** The effect of importing one file. */
export interface PlannedImport {
  path: string;
  name: string;
  /** Id of the workflow to change; null for a new workflow. */
  id: string | null;
  action: 'create' | 'update' | 'unchanged';
  /** Unified diff between the hub and the file; empty when nothing changes. */
  diff: string;
  body: z.output<typeof resource.createAutomationWorkflow.body>;
}

/** Sorts keys, so that equal workflows give equal files. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item)]),
  );
}

/** Renders the file of a workflow. */
export function workflowFile(
  workflow: Pick<Workflow, 'id' | 'name' | 'active' | 'triggerJson' | 'stepsJson' | 'limits' | 'inputs'>,
): string {
  const { id, name, active, triggerJson, stepsJson, limits, inputs } = workflow;
  const trigger =
    triggerJson.type === 'webhook'
      ? { ...triggerJson, webhook: { ...triggerJson.webhook, token: tokenPlaceholder } }
      : triggerJson;
  return `${JSON.stringify({ outrigger: 'workflow', id, name, active, triggerJson: sortKeys(trigger), stepsJson: sortKeys(stepsJson), limits: sortKeys(limits), inputs: sortKeys(inputs) }, null, 2)}\n`;
}

async function listAll(workflows: Workflows, tenantId: string): Promise<Workflow[]> {
  const all: Workflow[] = [];
  let cursor: string | undefined;
  do {
    const page = await workflows.list(
      tenantId,
      { limit: 100, ...(cursor === undefined ? {} : { cursor }) },
      { showsToken: true },
    );
    all.push(...page.data);
    cursor = page.meta.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return all;
}

const slug = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 60) || 'workflow';

/**
 * Writes one file per workflow into a folder: the workflows with the given ids or names, or all.
 * @throws AppError `not_found` for an unknown workflow, `unavailable` when the folder is not writable.
 */
export async function exportWorkflows(
  workflows: Workflows,
  tenantId: string,
  folder: string,
  wanted: string[],
): Promise<{ id: string; name: string; path: string }[]> {
  const all = await listAll(workflows, tenantId);
  const missing = wanted.find((item) => !all.some(({ id, name }) => id === item || name === item));
  if (missing !== undefined) throw notFound('workflow', missing);
  const refuse = (error: NodeJS.ErrnoException) => {
    throw new AppError(
      'unavailable',
      `The folder ${folder} is not writable (${error.code ?? 'error'}); fix its permissions, or choose another with --out.`,
      { cause: error },
    );
  };
  await mkdir(folder, { recursive: true }).catch(refuse);
  const written: { id: string; name: string; path: string }[] = [];
  for (const workflow of all.filter(
    ({ id, name }) => wanted.length === 0 || wanted.includes(id) || wanted.includes(name),
  )) {
    // The last digits of the id distinguish workflows with the same name.
    const path = join(folder, `${slug(workflow.name)}-${workflow.id.slice(-6)}.workflow.json`);
    await writeFile(path, workflowFile(workflow)).catch(refuse);
    written.push({ id: workflow.id, name: workflow.name, path });
  }
  return written;
}

function problems(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ');
}

/**
 * Reads files and calculates what each would change. A file matches its workflow by id, else by a unique name.
 * @throws AppError `validation_failed` that names the file.
 */
export async function planImport(workflows: Workflows, tenantId: string, paths: string[]): Promise<PlannedImport[]> {
  const all = await listAll(workflows, tenantId);
  const plans: PlannedImport[] = [];
  for (const path of paths) {
    const refuse = (why: string) => new AppError('validation_failed', `${path}: ${why}`);
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw refuse(error.code === 'ENOENT' ? 'the file does not exist' : (error.code ?? error.message));
    });
    let content: unknown;
    try {
      content = JSON.parse(text);
    } catch (error) {
      throw refuse(`is not JSON: ${(error as Error).message}`);
    }
    const file = fileShape.safeParse(content);
    if (!file.success) throw refuse(`is not a workflow file: ${problems(file.error)}`);
    const { outrigger: _kind, id, ...given } = file.data;
    const sameName = all.filter(({ name }) => name === given['name']);
    const before = all.find((workflow) => workflow.id === id) ?? (sameName.length === 1 ? sameName[0] : undefined);
    const body = resource.createAutomationWorkflow.body.safeParse(given);
    if (!body.success) throw refuse(problems(body.error));
    const { triggerJson } = body.data;
    if (triggerJson.type === 'webhook' && triggerJson.webhook.token === tokenPlaceholder) {
      triggerJson.webhook.token =
        (before?.triggerJson.type === 'webhook' ? before.triggerJson.webhook.token : undefined) ??
        randomBytes(24).toString('base64url');
    }
    const { limits = null, inputs = null } = body.data;
    const after = workflowFile({ id: before?.id ?? id ?? 'new', ...body.data, limits, inputs });
    const old = before === undefined ? '' : workflowFile(before);
    const action = before === undefined ? 'create' : old === after ? 'unchanged' : 'update';
    plans.push({
      path,
      name: body.data.name,
      id: before?.id ?? null,
      action,
      diff:
        action === 'unchanged'
          ? ''
          : createTwoFilesPatch(before === undefined ? '/dev/null' : 'in the hub', path, old, after, '', '', {
              context: 3,
            }),
      body: body.data,
    });
  }
  return plans;
}

/** Applies planned imports. @throws AppError as creating and changing a workflow do. */
export async function applyImport(
  workflows: Workflows,
  tenantId: string,
  plans: PlannedImport[],
  actor: string,
): Promise<{ id: string; name: string; action: PlannedImport['action'] }[]> {
  const done: { id: string; name: string; action: PlannedImport['action'] }[] = [];
  const caller = { actor, environment: 'live' as const };
  for (const { id, name, action, body } of plans) {
    if (action === 'unchanged') done.push({ id: id as string, name, action });
    else if (id === null) done.push({ id: (await workflows.create(tenantId, body, caller)).id, name, action });
    else
      done.push({
        id: (
          await workflows.update(
            tenantId,
            id,
            { ...body, limits: body.limits ?? null, inputs: body.inputs ?? null },
            caller,
            { expected: null, showsToken: false },
          )
        ).id,
        name,
        action,
      });
  }
  return done;
}
