import { CompanionError } from '../data-folder.ts';
import { change, json, usageExitCode } from './context.ts';
import type { CliContext } from './context.ts';

interface HostOptions {
  allow?: string[] | true;
  block?: string[] | true;
  private?: string[] | true;
  remove?: boolean;
  json?: boolean;
}

/** Adds `hosts` to the command line. */
export function addHosts({ program, dataFolder, print }: CliContext): void {
  program
    .command('hosts')
    .description('set where the browser may go; each option adds to its list')
    .option('--allow [hosts...]', 'allow only these; without hosts, empty the list: all that are not blocked')
    .option('--block [hosts...]', 'block these; without hosts, empty the list')
    .option(
      '--private [hosts...]',
      'allow these of this machine and private networks: hosts, host:port or ranges such as 10.0.0.0/8; without hosts, empty the list',
    )
    .option('--remove', 'remove the named hosts from the lists instead of adding them')
    .addOption(json())
    .action(async (options: HostOptions) => {
      const folder = dataFolder();
      const lists = [
        ['allowHosts', options.allow],
        ['blockHosts', options.block],
        ['privateHosts', options.private],
      ] as const;
      const given = lists.filter(([, hosts]) => hosts !== undefined);
      if (options.remove === true && given.length === 0)
        throw new CompanionError('--remove needs a list, such as: outrigger-companion hosts --private HOST --remove', {
          exitCode: usageExitCode,
        });
      const emptied = given.filter(([, hosts]) => hosts === true).map(([list]) => [list, []] as const);
      const named = given.filter(([, hosts]) => hosts !== true);
      let settings = emptied.length > 0 || named.length > 0 ? undefined : folder.readSettings();
      if (emptied.length > 0)
        settings = await change(folder, { change: 'browser_hosts', ...Object.fromEntries(emptied) });
      if (named.length > 0)
        settings = await change(folder, {
          change: 'browser_hosts',
          mode: options.remove === true ? 'remove' : 'add',
          ...Object.fromEntries(named),
        });
      const { allowHosts, blockHosts, privateHosts } = (settings ?? folder.readSettings()).browser;
      const done = options.remove === true ? 'Removed' : 'Added';
      print(
        { allowHosts, blockHosts, privateHosts },
        options.json,
        [
          ...(named.length === 0
            ? []
            : [
                `${done} ${named.flatMap(([, hosts]) => (Array.isArray(hosts) ? hosts : [])).join(', ')}. The lists now:`,
              ]),
          `allowed    ${allowHosts.join(', ') || 'all'}`,
          `blocked    ${blockHosts.join(', ') || 'none'}`,
          `private    ${privateHosts.join(', ') || 'none'}`,
        ].join('\n'),
      );
    });
}
