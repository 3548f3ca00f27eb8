import { z } from 'zod';
import { packManifest, packs as resource } from '../../../../shared/contract/automations/packs.ts';
import type { Pack, PackDetail, PackGrants, PackManifest } from '../../../../shared/contract/automations/packs.ts';
import { workflows as workflowResource } from '../../../../shared/contract/automations/workflows.ts';
import type { Workflow } from '../../../../shared/contract/automations/workflows.ts';
import { AppError } from '../../../../shared/errors.ts';
import { schemaMessage } from '../../../../shared/issue-messages.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { TemplateError } from '../../../../shared/template.ts';
import type { SdkSkill } from '../../../engine/index.ts';
import type { RunCaller } from '../../../engine/index.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { eq, sql } from '../../../platform/db/orm.ts';
import { assertDefinitionSize } from '../../../platform/definition-size.ts';
import { newId } from '../../../platform/ids.ts';
import { reservePage, rowsThatFit } from '../../../platform/large-pages.ts';
import type { MemoryBudget } from '../../../platform/process/memory-budget.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import type { Workflows } from '../workflows/index.ts';
import { checkFilled, checkPack, isAllowedInPacks } from './check.ts';
import type { PackRules } from './check.ts';
import { checkInputs, fillInputs, isEmpty, withoutCondition } from './inputs.ts';
import { readKnownPacks, readManifests } from './known-packs.ts';
import type { FoundPack, KnownPack } from './known-packs.ts';
import { packInstalls, publishedPacks } from './schema.ts';
import { shippedPacks } from './shipped.ts';

type ListQuery = z.output<typeof resource.listAutomationSkills.query>;
type InstallBody = z.output<typeof resource.installAutomationSkill.body>;
type WorkflowBody = z.output<typeof resource.createAutomationSkillWorkflow.body>;
type SdkBody = z.output<typeof resource.postAutomationSkillSdk.body>;
type SdkAnswer = z.input<typeof resource.postAutomationSkillSdk.response>;

export interface PacksDependencies {
  db: Database;
  /** Memory budget for responses with large manifests. */
  answerMemory: MemoryBudget;
  workflows: Workflows;
  limits: WorkspaceLimits;
  rules: PackRules;
  sdkSkills: () => SdkSkill[];
}

/** Packs: ready-made workflows that declare their powers and are limited to them. */
export class Packs {
  readonly #deps: PacksDependencies;

  constructor(dependencies: PacksDependencies) {
    this.#deps = dependencies;
  }

  /** The newest version of every pack that the workspace can see, by name. */
  async list(tenantId: string, query: ListQuery) {
    const { db, answerMemory } = this.#deps;
    const { known, installs } = await db.read(tenantId, async (tx) => ({
      known: await readKnownPacks(tx, tenantId),
      installs: await readInstalls(tx, tenantId),
    }));
    const newest = new Map<string, KnownPack>();
    for (const pack of known) if (!pack.isWithdrawn && !newest.has(pack.packId)) newest.set(pack.packId, pack);
    const all = [...newest.values()].toSorted((left, right) => (left.packId < right.packId ? -1 : 1));
    // The cursor is the id of a pack, because the list is short and merged from several sources.
    const after = query.cursor === undefined ? undefined : Buffer.from(query.cursor, 'base64url').toString();
    if (after !== undefined && !newest.has(after))
      throw new AppError(
        'invalid_cursor',
        'cursor is not valid for this list. Use meta.nextCursor of the previous page, or omit it.',
        { details: [{ path: 'query.cursor', message: 'is not valid for this list' }] },
      );
    const rest = after === undefined ? all : all.filter(({ packId }) => packId > after);
    const page = rowsThatFit(rest.slice(0, query.limit));
    using memory = answerMemory.open(tenantId);
    await reservePage(memory, page);
    const packs = await db.read(tenantId, (tx) => readManifests(tx, tenantId, page));
    const last = page.at(-1)?.packId;
    return {
      data: packs.map((pack) => present(pack, installs)),
      meta: {
        limit: query.limit,
        nextCursor: rest.length > page.length && last !== undefined ? Buffer.from(last).toString('base64url') : null,
      },
    };
  }

  /**
   * The newest version of a pack, or the installed one when every version is withdrawn, with all versions.
   * @throws AppError `not_found`.
   */
  get(tenantId: string, packId: string): Promise<PackDetail> {
    return this.#deps.db.read(tenantId, async (tx) => {
      const versions = (await readKnownPacks(tx, tenantId)).filter((pack) => pack.packId === packId);
      const installs = await readInstalls(tx, tenantId);
      const shown =
        versions.find(({ isWithdrawn }) => !isWithdrawn) ??
        versions.find(({ version }) => version === installs.get(packId));
      const [found] = shown === undefined ? [] : await readManifests(tx, tenantId, [shown]);
      if (found === undefined) throw packNotFound(packId);
      return {
        ...present(found, installs),
        grants: checkPack(found.manifest, this.#deps.rules).grants,
        versions: versions.map(({ version, isWithdrawn }) => ({ version, withdrawn: isWithdrawn })),
      };
    });
  }

  /** @throws AppError `not_found`, or `pack_invalid` when the graph does more than the pack declares. */
  install(
    tenantId: string,
    body: InstallBody,
    actor: string,
  ): Promise<{ pack: Pack; grants: PackGrants; installed: boolean }> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const pack = await this.#find(tx, tenantId, body.packId, body.version);
      const { grants } = this.#checked(pack.manifest);
      if (!body.dryRun) {
        const values = { version: pack.manifest.version, grants: grants as unknown as JsonObject, installedBy: actor };
        await tx
          .insert(packInstalls)
          .values({ tenantId, packId: pack.manifest.id, ...values })
          .onConflictDoUpdate({
            target: [packInstalls.tenantId, packInstalls.packId],
            set: { ...values, updatedAt: sql`now()` },
          });
        await recordAudit(tx, {
          tenantId,
          actor,
          action: 'pack.installed',
          targetType: 'pack',
          targetId: pack.manifest.id,
          details: { version: pack.manifest.version, grants: grants as unknown as JsonObject },
        });
      }
      return { pack: present(pack, await readInstalls(tx, tenantId)), grants, installed: !body.dryRun };
    });
  }

  /**
   * Creates a workflow of the installed version. @throws AppError `not_found`, `pack_not_installed`,
   * `validation_failed`, and the errors of creating a workflow.
   */
  async createWorkflow(tenantId: string, packId: string, body: WorkflowBody, caller: RunCaller): Promise<Workflow> {
    const pack = await this.#deps.db.read(tenantId, async (tx) => {
      const version = (await readInstalls(tx, tenantId)).get(packId);
      if (version !== undefined) return this.#find(tx, tenantId, packId, version, { isInstalled: true });
      await this.#find(tx, tenantId, packId, undefined);
      throw new AppError(
        'pack_not_installed',
        `The pack ${packId} is not installed. Call POST /v1/automations/skills/install {"packId": "${packId}"} first.`,
      );
    });
    const { manifest } = this.#checked(pack.manifest);
    const { inputs, problems } = checkInputs(manifest.inputsSchema, body.inputs);
    if (problems.length > 0)
      throw new AppError(
        'validation_failed',
        `The inputs can't be used: ${problems[0]?.path} ${problems[0]?.message}.`,
        { details: problems },
      );
    const { trigger, steps } = manifest.graph;
    const wanted = steps.filter(({ ifInput }) => typeof ifInput !== 'string' || !isEmpty(inputs[ifInput]));
    const filled = fill({ trigger, steps: wanted.map(withoutCondition) } as unknown as JsonValue, inputs);
    const created = workflowResource.createAutomationWorkflow.body.safeParse({
      name: body.name ?? manifest.name,
      active: body.active,
      triggerJson: filled.trigger,
      stepsJson: filled.steps,
    });
    if (!created.success) {
      const details = created.error.issues.map((issue) => ({
        path: `body.inputs: ${issue.path.join('.')}`,
        message: schemaMessage(issue),
      }));
      throw new AppError(
        'workflow_invalid',
        `The pack can't create a workflow with these inputs: ${details[0]?.path} ${details[0]?.message}.`,
        { details },
      );
    }
    const { problems: beyond, grants } = checkFilled(manifest, inputs, created.data.stepsJson, this.#deps.rules);
    if (beyond.length > 0)
      throw new AppError(
        'pack_invalid',
        `With these inputs the pack would do more than it declares: ${beyond[0]?.path} ${beyond[0]?.message}.`,
        { details: beyond },
      );
    return this.#deps.workflows.create(tenantId, created.data, caller, {
      origin: { kind: 'pack', id: manifest.id, grants },
      publishedBy: pack.publishedBy,
    });
  }

  /** The schema of packs, and every skill. */
  sdk() {
    const { $schema: _dialect, ...manifest } = z.toJSONSchema(packManifest, {
      io: 'input',
      unrepresentable: 'any',
    }) as JsonObject;
    return {
      schemaVersion: 1 as const,
      manifest,
      skills: this.#deps
        .sdkSkills()
        .map((skill) => ({ ...skill, requires: [...skill.requires], allowedInPacks: isAllowedInPacks(skill.id) })),
    };
  }

  /**
   * Lists the problems of a pack, or publishes it. @throws AppError `pack_invalid`, `workspace_limit_reached`, or
   * `conflict` for a published version.
   */
  async check(tenantId: string, body: SdkBody, actor: string): Promise<SdkAnswer> {
    assertDefinitionSize({ manifest: body.manifest });
    const { problems, manifest, grants } = checkPack(body.manifest, this.#deps.rules);
    if (!body.publish) return { valid: problems.length === 0, errors: problems, grants, published: null };
    if (problems.length > 0 || manifest === null) {
      const details = problems.map(({ path, message }) => ({ path: `body.manifest.${path}`, message }));
      throw new AppError('pack_invalid', `The pack can't be published: ${details[0]?.path} ${details[0]?.message}.`, {
        details,
      });
    }
    if (shippedPacks.some(({ id }) => id === manifest.id))
      throw new AppError('conflict', `${manifest.id} is the name of a pack of this hub. Choose another name.`);
    const id = newId();
    await this.#deps.db.workspace(tenantId, async (tx) => {
      if ((await readKnownPacks(tx, tenantId)).some(({ packId, source }) => source === 'hub' && packId === manifest.id))
        throw new AppError('conflict', `${manifest.id} is the id of a pack of this hub. Choose another id.`);
      const rows = await tx
        .insert(publishedPacks)
        .values({ id, tenantId, packId: manifest.id, version: manifest.version, manifest, publishedBy: actor })
        .onConflictDoNothing()
        .returning({ id: publishedPacks.id });
      if (rows.length === 0)
        throw new AppError(
          'conflict',
          `${manifest.id} ${manifest.version} is already published, and published versions never change. Raise the version.`,
        );
      await this.#deps.limits.assertWithin(tx, tenantId, 'pack');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'pack.published',
        targetType: 'pack',
        targetId: manifest.id,
        details: { version: manifest.version },
      });
    });
    return { valid: true, errors: [], grants, published: { id, packId: manifest.id, version: manifest.version } };
  }

  #checked(manifest: PackManifest): { manifest: PackManifest; grants: PackGrants } {
    const { problems, grants } = checkPack(manifest, this.#deps.rules);
    if (grants !== null) return { manifest, grants };
    throw new AppError(
      'pack_invalid',
      `The pack ${manifest.id} is refused: ${problems[0]?.path} ${problems[0]?.message}.`,
      { details: problems },
    );
  }

  async #find(
    tx: Transaction,
    tenantId: string,
    packId: string,
    version: string | undefined,
    { isInstalled = false }: { isInstalled?: boolean } = {},
  ): Promise<FoundPack> {
    const known = (await readKnownPacks(tx, tenantId)).find(
      (pack) =>
        pack.packId === packId &&
        (version === undefined || pack.version === version) &&
        (isInstalled || !pack.isWithdrawn),
    );
    const [found] = known === undefined ? [] : await readManifests(tx, tenantId, [known]);
    if (found === undefined) throw packNotFound(version === undefined ? packId : `${packId} ${version}`);
    return found;
  }
}

const packNotFound = (name: string) =>
  new AppError('not_found', `There is no pack ${name}. GET /v1/automations/skills lists all packs.`);

/** @throws AppError `validation_failed` for inputs that would be interpreted as templates. */
function fill(graph: JsonValue, inputs: JsonObject): { trigger: JsonValue; steps: JsonObject[] } {
  try {
    return fillInputs(graph, inputs) as { trigger: JsonValue; steps: JsonObject[] };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new AppError('validation_failed', `The inputs can't be used: ${error.message}.`, {
      details: [{ path: 'body.inputs', message: error.message }],
      cause: error,
    });
  }
}

async function readInstalls(tx: Transaction, tenantId: string): Promise<Map<string, string>> {
  const rows = await tx
    .select({ packId: packInstalls.packId, version: packInstalls.version })
    .from(packInstalls)
    .where(eq(packInstalls.tenantId, tenantId));
  return new Map(rows.map(({ packId, version }) => [packId, version]));
}

function present({ manifest, source }: FoundPack, installs: Map<string, string>): Pack {
  return { ...manifest, source, installedVersion: installs.get(manifest.id) ?? null };
}
