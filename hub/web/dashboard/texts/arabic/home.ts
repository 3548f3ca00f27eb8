import type { home as english } from '../english/home.ts';

/** Texts of the home page. */
export const home: typeof english = {
  morning: 'صباح الخير',
  afternoon: 'نهارك سعيد',
  evening: 'مساء الخير',
  greeting: '{greeting}، {name}',
  needsNothing: 'لا شيء يحتاج إليك.',
  needsOne: 'أمر واحد يحتاج إليك.',
  needsMany: 'أمور تحتاج إليك: {count}.',
  pair: 'ربط جهاز',

  approvals: 'موافقات تنتظرك',
  oneApproval: 'موافقة تنتظرك',
  runs: 'عمليات انتهت خلال 24 ساعة',
  runsWithRate: 'عمليات انتهت خلال 24 ساعة، نجح منها {rate}',
  inProgress: 'عمليات جارية',
  about: 'نحو {count}',
  atLeast: '{count}+',
  onlineOf: '{online} من {total}',
  nodesOnline: 'أجهزة متصلة',
  unread: 'محادثات غير مقروءة',

  needs: 'يحتاج إلى شخص',
  needsEmpty: 'لا توجد موافقات أو إخفاقات أو أجهزة منتظَرة.',
  approve: 'موافقة',
  failed: 'فشل',
  failedTimes: 'مرات الفشل: {count}',
  offline: 'غير متصل',
  unreadPill: 'غير مقروء',
  unreadTitle: 'المحادثات غير المقروءة: {count}',
  unreadNote: 'زوار ينتظرون ردًا',
  runsWait: 'عمليات تنتظره: {count}',
  oneRunWaits: 'عملية واحدة تنتظره',

  chart: 'عمليات التشغيل، آخر 24 ساعة',
  chartText: 'حسب وقت الإدراج في قائمة الانتظار، على فترات من ساعتين.',
  bar: 'من {from} إلى {to}، العمليات: {count}، الفاشلة: {failed}',
  highest: 'الأعلى: {count}',
  noRuns: 'لا توجد عمليات في آخر 24 ساعة.',

  pictures: 'الأحدث من أجهزتك',
  pictureOf: 'صورة من {node}',
  noPictures: 'لم تلتقط أحدث العمليات أي صور.',

  next: 'التالي',
  nextEmpty: 'لا يوجد سير عمل له جدول زمني.',
  nextPartlyEmpty: 'لا يوجد جدول زمني لأي من آخر {count} من مسارات العمل المعدّلة.',
  nextPartly: 'من بين آخر {count} من مسارات العمل المعدّلة.',
  allSchedules: 'كل الجداول',
};
